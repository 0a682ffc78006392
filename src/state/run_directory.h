#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/file.h"
#include "comm/host_group.h"

namespace meshwork {

/// What the system knows a file by, whatever its name.
struct FileId {
  std::uint64_t device = 0, number = 0;
  bool operator==(const FileId&) const = default;
};

/// What to do with a directory in which a run has left weights or checkpoints.
enum class Rerun {
  kRefuse,
  kResume,  ///< go on from its newest checkpoint; it must have one
  kResumeIfAny,
  kOverwrite,  ///< remove what it has left
  kNew,        ///< take another directory: "runs/guide-2"
};

/// The directory of a run, which no other run may write to while this lives: a lock on the file
/// .lock in it, whose text names who holds it. The first member of a job opens it for all.
class RunDirectory {
 public:
  /// All members call it, with the same arguments. `files`: names of what the run writes there
  /// beside weights and checkpoints; what an earlier one has left unfinished of all these is
  /// removed. Throws an Error of ExitCode::kFile on all where the directory cannot be written,
  /// another run holds it, `rerun` refuses what is in it, or a member does not see it.
  RunDirectory(const std::string& path, Rerun rerun, HostGroup& hosts,
               const std::vector<std::string>& files = {});

  const std::string& path() const { return path_; }
  std::string checkpoints() const { return path_ + "/checkpoints"; }
  /// The checkpoint to go on from; "" for a run that begins anew.
  const std::string& newest_checkpoint() const { return newest_; }

  /// Whether the path still names the directory that was opened: it may have been moved or removed
  /// since, and another run may have made one there. For the first member; true on others.
  bool is_held() const;
  /// Throws an Error of ExitCode::kFile where it is not held.
  void check_held() const;

  /// Whether `rerun` is to overwrite what a run has left. For the first member; false on others.
  bool overwrites() const { return overwrites_; }
  /// Removes what `rerun` says is to be overwritten: to be called, by one member, when all else
  /// is ready. Until then the old weights may be read.
  void remove_old() const;

 private:
  void open(const std::string& path, Rerun rerun, const std::vector<std::string>& files);
  void decide(Rerun rerun);

  std::string path_;
  std::string newest_;
  bool overwrites_ = false;
  std::optional<File> lock_;  ///< of the first member
  FileId lock_id_;            ///< which file of the system that is
};

/// Name of the file of final weights in it.
constexpr const char* kFinalWeights = "final.safetensors";

/// The directory of the run that weights, a file or a checkpoint, lie in: "DIR" for
/// "DIR/final.safetensors" and "DIR/checkpoints/step-6".
std::string run_directory_of(const std::string& weights);

/// The file by which a run holds its directory: as long as it runs, no other one has the same. None
/// where nothing holds it.
std::optional<FileId> holder_of(const std::string& run_directory);

/// Whether a process holds the directory of a run.
bool is_in_use(const std::string& run_directory);

/// Whether it is the directory itself that has what is of this name: weights, checkpoints, the
/// lock.
bool is_of_run_directory(std::string_view name);

}  // namespace meshwork
