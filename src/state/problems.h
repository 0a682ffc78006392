#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "base/error.h"

namespace meshwork {

/// What does not fit of a file: the first ten problems in words, the others counted.
class Problems {
 public:
  /// `describe()` may look for near names, which takes its time where there are thousands.
  template <class Describe>
  void add(const Describe& describe) {
    if (count_++ < kMost) shown_.push_back(describe());
  }

  /// Throws them as an Error of ExitCode::kFile, if there are any: one line, or a list. `way_out`:
  /// of all of them.
  void throw_if_any(const std::string& file, const std::string& way_out = "") const {
    if (count_ == 0) return;
    if (count_ == 1) {
      fail(ExitCode::kFile, "{}: {}{}{}", file, shown_[0], way_out.empty() ? "" : "; ", way_out);
    }
    std::string text = fmt::format("{}: {} tensors do not fit:", file, count_);
    for (const std::string& problem : shown_) text += "\n  " + problem;
    if (count_ > kMost) text += fmt::format("\n  and {} more", count_ - kMost);
    if (!way_out.empty()) text += "\n" + way_out;
    throw Error(ExitCode::kFile, text);
  }

 private:
  static constexpr std::size_t kMost = 10;
  std::size_t count_ = 0;
  std::vector<std::string> shown_;
};

}  // namespace meshwork
