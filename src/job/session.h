#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "exec/executable.h"
#include "job/device_plans.h"
#include "state/checkpoint.h"
#include "state/stored_tensors.h"
#include "state/tensor_part.h"

namespace meshwork {

/// A device's part of every weight, in host memory, to come back to.
using WeightsCopy = std::vector<std::vector<std::byte>>;

/// What one device holds during a job: its plans, one arena for all of them, its part of the
/// variables. All devices make the same calls in the same order.
class Session {
 public:
  /// Plans every program of the job, allocates once and binds.
  Session(const Job& job, const World& world);
  ~Session() { streams_.drain(); }
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  /// Gives every variable its initial value; the program for it must be among the job's.
  void initialize();

  const Executable& executable(const ProgramKey& key) const;

  /// The weights of the model (no optimizer state) as global tensors, and this device's part of
  /// each, in device memory.
  const std::vector<GlobalTensor>& weights() const { return weights_.tensors; }
  TensorView weight(std::size_t i) const { return weights_.views[i]; }
  /// The same parts for the host to read; replicas but the first are no owners.
  std::vector<TensorPart> weight_parts() const { return parts_of(weights_); }

  /// Weights and optimizer state. Of sums that devices keep apart each shows its own:
  /// reduce_sums() first.
  const std::vector<GlobalTensor>& variables() const { return variables_.tensors; }
  std::vector<TensorPart> variable_parts() const { return parts_of(variables_); }
  /// Parts of the weights as copy_weights() gives them; they must outlive what is returned.
  std::vector<TensorPart> parts_of(const WeightsCopy& copy) const;

  /// Reads the weights that a file of any format, or the directory of a checkpoint, holds. Behind
  /// initialize() a file may lack those that its weights_map lets it lack. Those that `may_keep`
  /// the values they have do so where they are not there, or of another shape: their paths.
  std::vector<std::string> load_weights(const std::string& path, const MayKeep& may_keep = {});
  /// Gives these weights, by path, other values: of float32, row-major, as a whole.
  void set_weights(const std::map<std::string, std::vector<float>>& values);
  /// Reads weights and optimizer state.
  void load_variables(const Checkpoint& checkpoint);
  /// Reads weights, and the optimizer's state if the file has it; gives the steps of that
  /// optimizer, else 0.
  std::int64_t load_variables(const std::string& file);
  /// Reads copies of the weights, which a checkpoint has under `prefix` before their paths.
  WeightsCopy read_copy(const Checkpoint& checkpoint, const std::string& prefix) const;
  /// Writes them, each device its part.
  void save_weights(const std::string& file) const;
  std::uint64_t weights_digest() const;

  /// Keeps the weights of now, and goes back to them. No device needs another for it.
  WeightsCopy copy_weights() const;
  void restore_weights(const WeightsCopy& copy);
  /// Puts the averages that the optimizer keeps in the place of the weights; the program for it
  /// must be among the job's.
  void take_averages();
  /// Adds up the sums of which devices keep their own, where there are such: variable_parts() have
  /// all of them then.
  void reduce_sums();

  /// Copies between device memory and any memory of the host, behind all programs enqueued so far;
  /// done on return.
  void upload(const TensorView& to, const void* from) const;
  void download(void* to, const TensorView& from) const;

  const Job& job() const { return job_; }
  HostGroup& hosts() const { return *hosts_; }
  Device& device() const { return backend_->device(); }
  Stream& stream() const { return *streams_.compute; }  ///< that programs begin and end on
  const ProgramStreams& streams() const { return streams_; }

  /// Does `work`; an Error says where the device was in its programs, if that has failed.
  template <class Work>
  auto with_place_of_failure(const Work& work) {
    try {
      return work();
    } catch (const Error& error) {
      const std::string place = place_of_failure(streams_);
      if (place.empty()) throw;
      throw Error(error.code(), error.what() + place);
    }
  }
  bool is_first() const { return hosts().rank() == 0; }

  /// Bytes of this device's arena, and of these the variables'.
  std::int64_t arena_bytes() const { return plans_.arena_bytes; }
  std::int64_t variable_bytes() const { return plans_.variable_bytes; }
  /// All that the device takes.
  MemoryUse memory() const { return memory_use(plans_); }

 private:
  Session(const Job& job, const World& world, DeviceParts parts);
  void check_variables_agree() const;
  void check_memory() const;
  void allocate_arena();
  void place_samples();
  void bring_samples();
  const std::byte* samples(const ProgramKey& key, const std::string& field) const;
  /// Tensors, and this device's part of each.
  struct Held {
    std::vector<GlobalTensor> tensors;
    std::vector<TensorView> views;
    std::vector<bool> owned;
    /// Sums that devices keep apart: another device takes what is stored of them, this one 0.
    std::vector<bool> begins_at_zero;
  };

  void find_variables();
  std::vector<GlobalTensor> slots() const;
  /// Paths of those that are not among what is stored.
  template <class Stored>
  std::vector<std::string> load(const Held& held, const Stored& stored);
  std::vector<TensorPart> parts_of(const Held& held) const;

  const Job& job_;
  std::shared_ptr<HostGroup> hosts_;
  std::shared_ptr<Communicator> devices_;
  std::shared_ptr<Backend> backend_;
  CommunicatorGroups groups_;
  DevicePlans plans_;
  std::shared_ptr<std::byte> arena_;
  ProgramStreams streams_;
  /// All samples of sources that lie in memory: theirs, or where kernels do not reach it a copy.
  std::map<const data::Source*, const std::byte*> samples_;
  std::map<const data::Source*, std::shared_ptr<std::byte>> copies_;
  std::map<ProgramKey, std::unique_ptr<Executable>> executables_;
  bool initialized_ = false;
  Held weights_;
  Held variables_;
};

}  // namespace meshwork
