#pragma once

#include <functional>
#include <future>
#include <optional>
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
  /// shows a line on the first device. The directory must outlive it.
  Checkpointer(HostGroup& hosts, const config::Config& config, const RunDirectory& directory,
               bool async, std::function<void(const std::string&)> say);
  /// Waits for what this device writes; a checkpoint that is not complete by then is none.
  ~Checkpointer() = default;
  Checkpointer(const Checkpointer&) = delete;
  Checkpointer& operator=(const Checkpointer&) = delete;

  /// Begins a checkpoint, after completing the one before. With `async: false` it also completes
  /// it. `best`: the value of one that is better than all before, and kept until there is a better
  /// one.
  void save(Snapshot snapshot, std::optional<double> best = std::nullopt);

  /// Nothing is left for this device to write.
  bool has_written() const;

  /// Waits until all devices have written, and makes a checkpoint of it.
  void complete();

  /// The newest one, where it is in the second place; else "".
  const std::string& elsewhere() const { return elsewhere_; }

  /// The newest one, here or in the second place; "": there is none.
  const std::string& newest() const { return newest_; }

  /// Steps after which the newest one was written, here or in the second place; none: there is
  /// none.
  std::optional<std::int64_t> written() const { return written_; }
  /// Why the last one was not written, in neither place; "" where it was.
  const std::string& failure() const { return failure_; }

  /// The name of the best one that is complete, and its value; "" if there is none.
  const std::string& best() const { return best_; }
  std::optional<double> best_value() const { return best_value_; }
  /// Of a run that is resumed. Without a value the next one that is to be the best is so.
  void set_best(const std::string& name, std::optional<double> value) {
    best_ = name;
    best_value_ = value;
  }

 private:
  using Slices = std::vector<StoredSlice>;

  /// These say why it could not be done; "" where it was.
  std::string begin(const std::string& directory);
  /// Throws an Error where the place of the one under way is that of another run by now.
  void check_place() const {
    if (place_ == directory_) run_.check_held();
  }
  std::string finish();
  template <class Work>
  std::string failure_of(const Work& work) const;

  void complete_here();
  void complete_elsewhere();
  /// A failure costs a warning.
  void remove(const std::string& path) const;
  void remove_old() const;

  HostGroup& hosts_;
  const config::CheckpointSpec& spec_;
  bool async_;
  const RunDirectory& run_;
  std::string directory_;
  std::string fallback_;  ///< "": none
  std::function<void(const std::string&)> say_;
  std::string best_;
  std::optional<double> best_value_;
  std::string elsewhere_;
  std::string newest_;
  std::optional<std::int64_t> written_;

  // Of the one under way.
  bool is_under_way_ = false;
  std::optional<double> new_best_;
  std::int64_t steps_ = 0;
  std::int64_t bytes_ = 0;
  std::string place_;  ///< the directory that it is in
  std::string path_;
  std::string failure_;
  CheckpointIndex index_;
  std::vector<TensorPart> parts_;
  PartCopies copies_;
  std::future<Slices> slices_;
};

/// What to do where there is no second place.
constexpr const char* kSecondPlace = "set TMPDIR or 'checkpoint: {fallback: DIR}'";

/// Where checkpoints of a run go that its own directory does not take; "" for nowhere. All members
/// call it: the word of the first holds, for each may have a $TMPDIR of its own.
std::string fallback_of(const config::Config& config, const RunDirectory& directory,
                        HostGroup& hosts);

}  // namespace meshwork
