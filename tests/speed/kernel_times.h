#pragma once

#include <functional>
#include <string>
#include <vector>

#include "comm/host_group.h"
#include "exec/executable.h"

namespace meshwork::speed {

/// One kernel or collective of a program.
struct KernelTime {
  std::string op = {};
  std::string path = {};    ///< of the layer
  std::string shapes = {};  ///< "[128, 784] [784, 128] -> [128, 128]"
  bool is_collective = false;
  double seconds = 0;
  double step_seconds = 0;  ///< among the others, as a step runs it
  double flops = 0;         ///< of what is no collective
  double bytes = 0;         ///< of operands and result
};

struct ProgramTimes {
  std::vector<KernelTime> kernels;  ///< in the order of the program
  double input_seconds = 0;         ///< of one batch
};

/// Times every kernel and collective of a program, run again and again by itself, and in whole
/// steps, each behind a `fill` of the inputs. All devices make one of the same program and call it
/// together.
class ProgramTimer {
 public:
  /// For about `seconds`, in so many samples.
  ProgramTimer(const Executable& executable, HostGroup& world, double seconds, std::int64_t samples,
               std::function<void()> fill);

  /// One of all kernels; values of the program are undefined afterwards, and variables have
  /// changed.
  void sample();
  /// Medians.
  ProgramTimes times() const;

 private:
  void choose_calls();
  void time_alone(double seconds);
  void time_in_steps(double seconds);
  /// These add the seconds of each kernel.
  void pass(std::vector<double>& sums) const;
  void step(std::vector<double>& sums) const;

  const Executable& executable_;
  HostGroup& world_;
  std::function<void()> fill_;
  double seconds_;  ///< of a sample
  std::vector<KernelTime> kernels_;
  std::vector<std::int64_t> calls_;            ///< of each kernel, one after the other
  std::vector<std::vector<double>> alone_;     ///< means of the samples, of each kernel
  std::vector<std::vector<double>> in_steps_;  ///< the same, and last of the input
};

}  // namespace meshwork::speed
