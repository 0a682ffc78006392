#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <vector>

#include "train/trace.h"

namespace meshwork {

/// What one device has recorded, as entries of a Chrome trace (the Trace Event Format, JSON). A
/// device is a process, with threads for its host, for what it computes and for its collectives,
/// several of these where several are under way at once. `zero` is the zero of the trace by the
/// clock of the device, in nanoseconds; entries have microseconds.
class TraceText {
 public:
  TraceText(const Session& session, std::span<const TracedStep> steps, std::int64_t zero);
  ~TraceText();
  TraceText(const TraceText&) = delete;
  TraceText& operator=(const TraceText&) = delete;

  /// What stands before the entries of all devices, whose end is "\n]}\n".
  std::string head() const;

  /// The entries come in pieces, asked for in order, with ",\n" between entries; as many on all
  /// devices: one for each step, and names of rows.
  std::size_t pieces() const { return steps_.size() + 1; }
  std::string piece(std::size_t number);

 private:
  using Json = nlohmann::ordered_json;

  /// What entries of a step of a program say, whenever it runs.
  struct Described;

  const std::vector<Described>& described(const Executable& program);
  Described describe(const Executable& program, std::size_t step) const;
  std::string place_of_device() const;

  void add_step(std::size_t number);
  void add_host(const TracedStep& step, std::int64_t next);
  void add_program(const TracedStep& step);
  void add_collectives(const TracedStep& step);
  void add_names();
  void add_name(const char* what, int row, const std::string& name, int place);
  void add_span(int row, const std::string& name, const std::string& category, std::int64_t begin,
                std::int64_t end, const std::string& args = "");
  double microseconds(std::int64_t time) const;
  void add(const std::string& entry);

  const Session& session_;
  std::span<const TracedStep> steps_;
  std::int64_t zero_;
  int process_;
  std::map<const Executable*, std::vector<Described>> described_;
  std::size_t lanes_ = 1;  ///< of collectives
  std::string text_;       ///< of the piece under way
};

}  // namespace meshwork
