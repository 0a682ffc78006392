#pragma once

#include <string>

#include "base/error.h"

namespace meshwork {

/// A file that is not whole yet: it goes with the object, unless that keeps it, and when a signal
/// that nobody handles (SIGTERM, SIGINT, SIGHUP, SIGUSR1) or end_at_once() ends the process. That
/// holds for some dozens of files at a time; what is killed leaves them.
class UnfinishedFile {
 public:
  /// The file may be there, or come later.
  explicit UnfinishedFile(std::string path);
  UnfinishedFile(UnfinishedFile&& other) noexcept;
  UnfinishedFile& operator=(UnfinishedFile&&) = delete;
  ~UnfinishedFile();

  const std::string& path() const { return path_; }

  /// It is whole, or has another name.
  void keep();

 private:
  std::string path_;
  int place_ = -1;  ///< in the list of those that a signal removes
  bool is_kept_ = false;
};

/// Ends the process without a look at other threads, but for unfinished files.
[[noreturn]] void end_at_once(ExitCode code);

}  // namespace meshwork
