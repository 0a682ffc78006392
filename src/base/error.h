#pragma once

#include <fmt/format.h>

#include <stdexcept>
#include <string>
#include <utility>

namespace meshwork {

/// Exit codes of the command line.
enum class ExitCode {
  kOk = 0,
  kTraining = 1,       ///< NaN, no memory, no checkpoint wanted; tensors that differ; exceptions
  kConfiguration = 2,  ///< usage or configuration
  kFile = 3,           ///< data file or checkpoint
  kCommunication = 4,  ///< communication, or a lost rank
  kDifferent = 5,      ///< two runs that are to agree do not
  kStopped = 75,       ///< by a signal, after a checkpoint
};

/// A mistake of the user: thrown anywhere, caught once, printed once.
/// The message is lower case, place first, values, then the way out; no final period.
class Error : public std::runtime_error {
 public:
  Error(ExitCode code, const std::string& message) : std::runtime_error(message), code_(code) {}
  ExitCode code() const { return code_; }

 private:
  ExitCode code_;
};

/// Throws a configuration Error: fail("layer '{}': units is {}", name, units).
template <class... Args>
[[noreturn]] void fail(fmt::format_string<Args...> format, Args&&... args) {
  throw Error(ExitCode::kConfiguration, fmt::format(format, std::forward<Args>(args)...));
}

/// Throws an Error with an exit code of its own.
template <class... Args>
[[noreturn]] void fail(ExitCode code, fmt::format_string<Args...> format, Args&&... args) {
  throw Error(code, fmt::format(format, std::forward<Args>(args)...));
}

}  // namespace meshwork
