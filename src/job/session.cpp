#include "job/session.h"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <set>

#include "base/check.h"
#include "base/conversion.h"
#include "base/local_work.h"
#include "base/runs.h"
#include "base/terminal.h"
#include "comm/collectively.h"
#include "data/check_values.h"
#include "interchange/open_weights.h"
#include "job/gpu_memory.h"
#include "job/node_memory.h"
#include "job/same_calls.h"
#include "job/same_model.h"
#include "job/same_weights.h"
#include "sharding/layout.h"
#include "state/digest.h"
#include "state/safetensors.h"

namespace meshwork {
namespace {

/// Shows the host a part of a tensor from its beginning to its end, a piece at a time.
class PartReader {
 public:
  PartReader(const Session& session, const TensorView& view)
      : device_(session.device()), stream_(session.stream()), view_(view) {}

  const std::byte* operator()(std::int64_t begin, std::int64_t bytes) {
    if (begin < begin_ || begin + bytes > end_) fetch(begin, bytes);
    return piece_.data() + (begin - begin_);
  }

 private:
  void fetch(std::int64_t begin, std::int64_t bytes) {
    constexpr std::int64_t kBytes = std::int64_t{1} << 20U;
    begin_ = begin;
    end_ = std::min(begin + std::max(bytes, kBytes), num_bytes(view_.type));
    piece_.resize(static_cast<std::size_t>(end_ - begin_));
    download(device_, stream_, piece_.data(), view_.data + begin, end_ - begin_);
  }

  Device& device_;
  Stream& stream_;
  TensorView view_;
  std::vector<std::byte> piece_;
  std::int64_t begin_ = 0, end_ = 0;  ///< of the piece, in the part
};

}  // namespace

Session::Session(const Job& job, const World& world)
    : Session(job, world, make_device(job, world.devices)) {}

Session::Session(const Job& job, const World& world, DeviceParts parts)
    : job_(job),
      hosts_(world.hosts),
      devices_(std::move(parts.devices)),
      backend_(std::move(parts.backend)),
      groups_(*devices_),
      streams_(device()) {
  const int rank = hosts().rank();
  {
    const LocalWork work;
    plans_ = plan_device(job, rank, memory_query(job, *backend_));
  }
  if (job.config.memory_limit) {
    collectively(hosts(), [&] { check_memory_limit(job, plans_, rank); });
  }
  check_variables_agree();
  check_same_calls(plans_, hosts());
  check_memory();
  allocate_arena();
  collectively(hosts(), [&] { place_samples(); });
  for (const auto& [key, plan] : plans_.plans) {
    const auto samples = [&, key = key](const std::string& field) {
      return this->samples(key, field);
    };
    executables_.emplace(key, std::make_unique<Executable>(plan, *backend_, streams_, groups_,
                                                           arena_.get(), samples));
  }
  find_variables();
  collectively(hosts(), [&] { bring_samples(); });
}

void Session::check_memory() const {
  const std::int64_t of_host = device().reads_host_memory() ? plans_.arena_bytes : 0;
  check_node_memory(job_, of_host, hosts());
  const auto gpu = gpu_memory(device());
  if (gpu) check_gpu_memory(job_, memory_use(plans_), *gpu, hosts());
}

/// Collectives take what they need straight from the arenas of the others where they can.
void Session::allocate_arena() {
  const std::int64_t bytes = plans_.arena_bytes;
  if (device().reads_host_memory()) {
    arena_ = device().allocate(bytes, [&](std::int64_t size) { return devices_->allocate(size); });
    return;
  }
  arena_ = devices_->allocate(bytes);
  if (arena_ == nullptr) collectively(hosts(), [&] { arena_ = device().allocate(bytes); });
}

/// Kernels are bound to places while samples are still being unpacked.
void Session::place_samples() {
  for_each_samples(job_, plans_.plans, [&](const data::Split& /*split*/, const data::Field& field) {
    const data::Source* source = field.source.get();
    if (samples_.contains(source)) return;  // validation may be of the same samples
    if (device().reads_host_memory()) {
      samples_[source] = source->place();
      return;
    }
    copies_[source] = device().allocate(num_bytes({source->info().dtype, source->info().shape}));
    samples_[source] = copies_[source].get();
  });
}

void Session::bring_samples() {
  for_each_samples(job_, plans_.plans, [](const data::Split& split, const data::Field& field) {
    data::resident_samples(split, field);
  });
  for (const auto& [source, copy] : copies_) {
    const std::int64_t bytes = num_bytes({source->info().dtype, source->info().shape});
    meshwork::upload(device(), stream(), copy.get(), source->samples(), bytes);
  }
}

const std::byte* Session::samples(const ProgramKey& key, const std::string& field) const {
  return samples_.at(job_.splits.at(split_kind(key.kind)).find(field)->source.get());
}

/// Programs share variables by their places: what several have, all have in the same place.
void Session::check_variables_agree() const {
  const auto offset = [](const Plan& plan, std::size_t i) {
    return plan.offsets[plan.program.variables[i].value];
  };
  MW_CHECK(!plans_.plans.empty());
  const Plan& first = plans_.plans.begin()->second;
  for (const auto& [key, plan] : plans_.plans) {
    const auto& mine = plan.program.variables;
    const std::size_t shared = std::min(mine.size(), first.program.variables.size());
    for (std::size_t i = 0; i < shared; ++i) {
      MW_CHECK(
          mine[i].path == first.program.variables[i].path && offset(plan, i) == offset(first, i),
          "'{}' and '{}'", mine[i].path, first.program.variables[i].path);
    }
  }
}

namespace {

/// Files have weights of 16 bits as float32.
DType dtype_in_files(DType dtype) { return sum_dtype(dtype); }

std::vector<std::byte> rounded(const std::vector<std::byte>& floats, DType to) {
  const std::size_t count = floats.size() / sizeof(float);
  std::vector<std::byte> result(count * size_of(to));
  round_elements(reinterpret_cast<const float*>(floats.data()), static_cast<std::int64_t>(count),
                 to, result.data());
  return result;
}

}  // namespace

/// In the order of the program that has most: all others have its first ones.
void Session::find_variables() {
  const auto most =
      std::max_element(executables_.begin(), executables_.end(), [](const auto& a, const auto& b) {
        return a.second->plan().program.variables.size() <
               b.second->plan().program.variables.size();
      });
  const auto& [key, executable] = *most;
  const Graph& graph = executable->plan().program;
  const auto& variables = job_.programs.at(key).variables;
  for (std::size_t i = 0; i < graph.variables.size(); ++i) {
    const TensorView view = executable->view(graph.variables[i].value);
    const auto add_to = [&](Held& held) {
      const DType dtype = dtype_in_files(view.type.dtype);
      held.tensors.push_back({graph.variables[i].path, dtype, view.region.global});
      held.views.push_back(view);
      held.owned.push_back(is_first_replica(variables[i].layout, job_.mesh, hosts().rank()));
      held.begins_at_zero.push_back(
          part_of(variables[i].layout.partial, job_.mesh, hosts().rank()) > 0);
    };
    if (graph.variables[i].is_cache) continue;
    add_to(variables_);
    if (graph.variables[i].slot_of.empty()) add_to(weights_);
  }
}

std::vector<TensorPart> Session::parts_of(const Held& held) const {
  std::vector<TensorPart> parts;
  for (std::size_t i = 0; i < held.tensors.size(); ++i) {
    const TensorView& view = held.views[i];
    MW_CHECK(view.type.dtype == held.tensors[i].dtype);
    parts.push_back({i, view.region, view.type.shape, PartReader(*this, view), held.owned[i]});
  }
  return parts;
}

std::vector<TensorPart> Session::parts_of(const WeightsCopy& copy) const {
  std::vector<TensorPart> parts = weight_parts();
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const std::byte* data = copy.at(i).data();
    parts[i].read = [data](std::int64_t begin, std::int64_t /*bytes*/) { return data + begin; };
  }
  return parts;
}

const Executable& Session::executable(const ProgramKey& key) const {
  const auto found = executables_.find(key);
  MW_CHECK(found != executables_.end(), "no program for a batch of {}", key.batch);
  return *found->second;
}

void Session::initialize() {
  executable({ProgramKind::kInitialize, 0}).run();
  initialized_ = true;
}

namespace {

/// A checkpoint but for these variables.
struct PartOfCheckpoint {
  const Checkpoint& checkpoint;
  std::set<std::string> kept;

  bool has(const GlobalTensor& tensor) const { return !kept.contains(tensor.path); }
  void read(const GlobalTensor& tensor, const Region& region, const Shape& local,
            std::byte* to) const {
    checkpoint.read(tensor, region, local, to);
  }
};

/// All `wanted` of it, but for those that may keep their values.
PartOfCheckpoint part_of(const Checkpoint& checkpoint, std::vector<GlobalTensor> wanted,
                         const MayKeep& may_keep) {
  PartOfCheckpoint part{checkpoint, kept_variables(checkpoint.index().tensors, wanted, may_keep)};
  std::erase_if(wanted, [&](const GlobalTensor& tensor) { return !part.has(tensor); });
  checkpoint.check_tensors(wanted, true);
  return part;
}

/// Opens a file of weights for a session, whose first device tells what to know of it.
WeightsFile open(const Session& session, const std::string& file, bool may_lack,
                 const MayKeep& may_keep = {}) {
  std::vector<std::string> notes;
  WeightsFile opened =
      open_weights(session.job().config, file, session.weights(), may_lack, may_keep, &notes);
  if (!session.is_first()) return opened;
  for (const std::string& note : notes) say("note: " + note);
  return opened;
}

}  // namespace

template <class Stored>
std::vector<std::string> Session::load(const Held& held, const Stored& stored) {
  std::vector<std::string> kept;
  std::vector<std::byte> buffer;
  for (std::size_t i = 0; i < held.tensors.size(); ++i) {
    if (!stored.has(held.tensors[i])) {
      kept.push_back(held.tensors[i].path);
      continue;
    }
    const TensorView& view = held.views[i];
    const DType dtype = held.tensors[i].dtype;
    buffer.resize(static_cast<std::size_t>(num_bytes({dtype, view.type.shape})));
    stored.read(held.tensors[i], view.region, view.type.shape, buffer.data());
    if (held.begins_at_zero[i]) std::ranges::fill(buffer, std::byte{0});
    const bool rounds = dtype != view.type.dtype;
    upload(view, rounds ? rounded(buffer, view.type.dtype).data() : buffer.data());
  }
  return kept;
}

std::vector<std::string> Session::load_weights(const std::string& path, const MayKeep& may_keep) {
  check_same_weights(path, hosts());
  std::vector<std::string> kept;
  collectively(hosts(), [&] {
    std::error_code status;
    if (std::filesystem::is_directory(path, status)) {
      const Checkpoint stored(path);
      kept = load(weights_, part_of(stored, weights(), may_keep));
      return;
    }
    kept = load(weights_, open(*this, path, initialized_, may_keep));
  });
  return kept;
}

namespace {

/// Whole tensors in memory, by path.
struct GivenTensors {
  const std::map<std::string, std::vector<float>>& values;

  bool has(const GlobalTensor& tensor) const { return values.contains(tensor.path); }
  void read(const GlobalTensor& tensor, const Region& region, const Shape& local,
            std::byte* to) const {
    const std::vector<float>& all = values.at(tensor.path);
    MW_CHECK(std::ssize(all) == num_elements(tensor.shape), "{}", tensor.path);
    for_each_run(region, local, [&](const Run& run) {
      std::memcpy(to + run.local * std::int64_t{sizeof(float)}, all.data() + run.global,
                  static_cast<std::size_t>(run.count) * sizeof(float));
    });
  }
};

}  // namespace

void Session::set_weights(const std::map<std::string, std::vector<float>>& values) {
  load(weights_, GivenTensors{values});
}

std::vector<GlobalTensor> Session::slots() const {
  std::vector<GlobalTensor> slots;
  std::set<std::string> known;
  for (const GlobalTensor& weight : weights()) known.insert(weight.path);
  for (const GlobalTensor& variable : variables()) {
    if (!known.contains(variable.path)) slots.push_back(variable);
  }
  return slots;
}

std::int64_t Session::load_variables(const std::string& file) {
  std::int64_t iteration = 0;
  collectively(hosts(), [&] {
    WeightsFile stored = open(*this, file, initialized_);
    const bool has_slots = stored.find_slots(slots());
    load(has_slots ? variables_ : weights_, stored);
    if (has_slots) iteration = stored.iteration();
  });
  return iteration;
}

void Session::load_variables(const Checkpoint& checkpoint) {
  collectively(hosts(), [&] { load(variables_, part_of(checkpoint, variables(), {})); });
}

WeightsCopy Session::read_copy(const Checkpoint& checkpoint, const std::string& prefix) const {
  WeightsCopy copy;
  collectively(hosts(), [&] {
    for (std::size_t i = 0; i < weights().size(); ++i) {
      GlobalTensor tensor = weights()[i];
      tensor.path = prefix + tensor.path;
      const TensorView view = weight(i);
      copy.emplace_back(static_cast<std::size_t>(num_bytes(view.type)));
      checkpoint.read(tensor, view.region, view.type.shape, copy.back().data());
    }
  });
  return copy;
}

void Session::save_weights(const std::string& file) const {
  write_safetensors(file, weights(), weight_parts(), model_metadata(job_.config), hosts());
}

std::uint64_t Session::weights_digest() const { return digest(weights(), weight_parts(), hosts()); }

WeightsCopy Session::copy_weights() const {
  WeightsCopy copy;
  for (const TensorView& view : weights_.views) {
    copy.emplace_back(static_cast<std::size_t>(num_bytes(view.type)));
    download(copy.back().data(), view);
  }
  return copy;
}

void Session::restore_weights(const WeightsCopy& copy) {
  MW_CHECK(copy.size() == weights_.views.size());
  for (std::size_t i = 0; i < copy.size(); ++i) upload(weights_.views[i], copy[i].data());
}

void Session::upload(const TensorView& to, const void* from) const {
  meshwork::upload(device(), stream(), to.data, from, num_bytes(to.type));
}

void Session::download(void* to, const TensorView& from) const {
  meshwork::download(device(), stream(), to, from.data, num_bytes(from.type));
}

void Session::take_averages() { executable({ProgramKind::kAverage, 0}).run(); }

void Session::reduce_sums() {
  const auto found = executables_.find({ProgramKind::kReduce, 0});
  if (found != executables_.end()) found->second->run();
}

}  // namespace meshwork
