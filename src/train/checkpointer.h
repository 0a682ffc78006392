#pragma once

#include <functional>
#include <future>
#include <string>
#include <vector>

#include "config/config.h"
#include "job/session.h"
#include "state/checkpoint.h"
#include "state/run_directory.h"

namespace meshwork {

/// What a checkpoint is made of: tensors with this device's part of each, and of the first device
/// the rest.
struct Snapshot {
  std::int64_t steps = 0;  ///< of the run
  std::vector<GlobalTensor> tensors;
  std::vector<TensorPart> parts;
  std::string state;  ///< JSON
};

/// Writes the checkpoints of a run and removes older ones. One that fails is tried once more in a
/// second place: the fallback directory of the file, or $TMPDIR. It costs a warning, and training
/// goes on. All devices make the same calls.
class Checkpointer {
 public:
  /// `async`: checkpoints are written behind training, from copies of what devices hold. `say`
  /// shows a line on the first device.
  Checkpointer(HostGroup& hosts, const config::Config& config, const RunDirectory& directory,
               bool async, std::function<void(const std::string&)> say);
  /// Waits for what this device writes; a checkpoint that is not complete by then is none.
  ~Checkpointer() = default;
  Checkpointer(const Checkpointer&) = delete;
  Checkpointer& operator=(const Checkpointer&) = delete;

  /// Begins a checkpoint, after completing the one before. With `async: false` it also completes
  /// it. `is_best`: kept until there is a better one.
  void save(Snapshot snapshot, bool is_best = false);

  /// Nothing is left for this device to write.
  bool has_written() const;

  /// Waits until all devices have written, and makes a checkpoint of it.
  void complete();

  /// The newest one, where it is in the second place; else "".
  const std::string& elsewhere() const { return elsewhere_; }

  /// The name of the best one, the one under way included; "" if there is none.
  const std::string& best() const { return best_; }
  /// Of a run that is resumed.
  void set_best(const std::string& name) { best_ = name; }

 private:
  using Slices = std::vector<StoredSlice>;

  /// These say why it could not be done; "" where it was.
  std::string begin(const std::string& directory);
  std::string finish();
  template <class Work>
  std::string failure_of(const Work& work) const;

  void complete_elsewhere();
  /// A failure costs a warning.
  void remove(const std::string& path) const;
  void remove_old() const;

  HostGroup& hosts_;
  const config::CheckpointSpec& spec_;
  bool async_;
  std::string directory_;
  std::string fallback_;  ///< "": none
  std::function<void(const std::string&)> say_;
  std::string best_;
  std::string elsewhere_;

  // Of the one under way.
  bool is_under_way_ = false;
  bool is_best_ = false;
  std::int64_t steps_ = 0;
  std::string path_;
  std::string failure_;
  CheckpointIndex index_;
  std::vector<TensorPart> parts_;
  PartCopies copies_;
  std::future<Slices> slices_;
};

/// Where checkpoints of a run go that its own directory does not take; "" for nowhere.
std::string fallback_of(const config::Config& config, const RunDirectory& directory);

}  // namespace meshwork
