#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "exec/executable.h"
#include "job/device_plans.h"
#include "state/tensor_part.h"

namespace meshwork {

/// A device's part of every weight, in host memory, to come back to.
using WeightsCopy = std::vector<std::vector<std::byte>>;

/// What one device holds during a job: its plans, one arena for all of them, its part of the
/// variables. All devices make the same calls in the same order.
class Session {
 public:
  /// Plans every program of the job, allocates once and binds.
  Session(const Job& job, const DeviceContext& context);

  /// Gives every variable its initial value; the program for it must be among the job's.
  void initialize();

  const Executable& executable(const ProgramKey& key) const;
  /// The same program over inputs in other memory.
  std::unique_ptr<Executable> executable_over(const ProgramKey& key, InputPlaces places) const;
  /// How many programs have run over the arena.
  std::int64_t runs() const { return arena_.runs; }

  /// The weights of the model (no optimizer state) as global tensors, and this device's part of
  /// each, in device memory.
  const std::vector<GlobalTensor>& weights() const { return weights_; }
  TensorView weight(std::size_t i) const;
  /// The same parts in host memory; replicas but the first are no owners.
  std::vector<TensorPart> weight_parts() const;

  /// Reads the weights that a file of final weights holds.
  void load_weights(const std::string& file);
  /// Writes them, each device its part.
  void save_weights(const std::string& file) const;
  std::uint64_t weights_digest() const;

  /// Keeps the weights of now, and goes back to them. No device needs another for it.
  WeightsCopy copy_weights() const;
  void restore_weights(const WeightsCopy& copy);
  /// Puts the averages that the optimizer keeps in the place of the weights; the program for it
  /// must be among the job's.
  void take_averages();

  const Job& job() const { return job_; }
  Communicator& world() const { return groups_.world(); }
  Backend& backend() const { return *backend_; }
  bool is_first() const { return world().rank() == 0; }

  /// Bytes of this device's arena, and of these the variables'.
  std::int64_t arena_bytes() const { return plans_.arena_bytes; }
  std::int64_t variable_bytes() const { return plans_.variable_bytes; }

 private:
  void check_variables_agree() const;
  void find_weights();

  const Job& job_;
  mutable CommunicatorGroups groups_;
  std::unique_ptr<Backend> backend_;
  DevicePlans plans_;
  mutable Arena arena_;
  std::map<ProgramKey, std::unique_ptr<Executable>> executables_;
  std::vector<GlobalTensor> weights_;
  std::vector<TensorView> weight_views_;
  std::vector<bool> owned_;
};

}  // namespace meshwork
