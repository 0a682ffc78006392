#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "job/session.h"

namespace meshwork {

/// Beyond that no program shows it.
constexpr std::int64_t kMostTracedSteps = 1000;

struct TraceOptions {
  std::string file = {};    ///< "": no trace
  std::int64_t steps = 10;  ///< to record, behind those that warm up
};

/// Throws a configuration Error for a job whose steps cannot be timed.
void check_trace(const Job& job);
/// Throws an Error of ExitCode::kFile, on all devices, where the first one cannot write the file.
void check_trace_file(const std::string& file, HostGroup& hosts);

/// What the host does in a step beside the program: each part ends where the next one begins.
enum class HostPart { kData, kBatch, kProgram, kResults };
constexpr std::size_t kHostParts = 4;

/// When a device did what in a step of training; times are nanoseconds of its clock.
struct TracedStep {
  std::int64_t number = 0;  ///< of the run, from 1
  const Executable* program = nullptr;
  double loss = 0;
  std::int64_t begin = 0;
  std::array<std::int64_t, kHostParts> ends{};  ///< of the parts of the host
  /// Of each step of the program: where it ends, and where it has given collectives a hand.
  std::vector<std::int64_t> launched, polled;
  /// Of the collective that starts with a step: where it was seen to be complete before the step
  /// that ends it; 0 for none.
  std::vector<std::int64_t> complete;
};

/// Records some steps of training, and writes them as one Chrome trace of all devices, which
/// Perfetto and chrome://tracing show. The streams of the session are immediate: a step of a
/// program has been computed when it has been launched.
class StepTrace {
 public:
  /// Reserves memory for all that is recorded.
  StepTrace(const Session& session, const TraceOptions& options);

  /// A step begins; false: it is not recorded. All devices call it. Steps that are recorded go on
  /// with run() and end_of() of each part, and end with end().
  bool begin(std::int64_t number);
  void run(const Executable& program);
  void end_of(HostPart part);
  void end(double loss);

  /// Whether there is nothing more to record.
  bool is_full() const { return used_ == steps_.size(); }

  /// Brings the parts of all devices to the first one, which writes the file. All devices call it.
  /// What the first one is to warn of, if there is no file; else "".
  std::string write() const;

 private:
  void set_clock();
  TracedStep& last() { return steps_[used_ - 1]; }

  const Session& session_;
  std::string file_;
  std::vector<TracedStep> steps_;
  std::size_t used_ = 0;    ///< of steps_
  std::int64_t begun_ = 0;  ///< steps
  std::int64_t zero_ = 0;   ///< of the trace, by the clock of this device
  /// Of each collective of all programs: the step that starts it.
  std::unordered_map<const PreparedCall*, std::size_t> starts_;
};

}  // namespace meshwork
