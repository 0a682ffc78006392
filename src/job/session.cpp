#include "job/session.h"

#include <algorithm>

#include "base/check.h"
#include "comm/together.h"
#include "sharding/layout.h"
#include "state/digest.h"
#include "state/safetensors.h"

namespace meshwork {

Session::Session(const Job& job, const DeviceContext& context)
    : job_(job), groups_(context.world), backend_(make_cpu_backend(context.threads)) {
  const int device = context.world.rank();
  plans_ = plan_device(job, device, [&](const Graph& program, const Instruction& instruction) {
    return kernel_workspace(*backend_, program, instruction);
  });
  if (job.config.memory_limit) {
    together(world(), [&] { check_memory_limit(job, plans_, device); });
  }
  check_variables_agree();
  // Collectives take what they need straight from the arenas of the others where they can.
  arena_.memory = backend_->allocate(
      plans_.arena_bytes, [&](std::int64_t bytes) { return context.world.allocate(bytes); });
  for (const auto& [key, plan] : plans_.plans) {
    executables_.emplace(key, std::make_unique<Executable>(plan, *backend_, groups_, arena_));
  }
  find_weights();
}

/// Programs share variables by their places: what several have, all have in the same place.
void Session::check_variables_agree() const {
  const auto offset = [](const Plan& plan, std::size_t i) {
    return plan.offsets[static_cast<std::size_t>(plan.program.variables[i].value)];
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

void Session::find_weights() {
  const auto& [key, first] = *executables_.begin();
  const Graph& graph = first->plan().program;
  const auto& variables = job_.programs.at(key).variables;
  for (std::size_t i = 0; i < graph.variables.size(); ++i) {
    if (!graph.variables[i].slot_of.empty()) continue;
    const TensorView view = first->view(graph.variables[i].value);
    weights_.push_back({graph.variables[i].path, view.type.dtype, view.window.global});
    weight_views_.push_back(view);
    owned_.push_back(is_first_replica(variables[i].layout, job_.mesh, world().rank()));
  }
}

const Executable& Session::executable(const ProgramKey& key) const {
  const auto found = executables_.find(key);
  MW_CHECK(found != executables_.end(), "no program for a batch of {}", key.batch);
  return *found->second;
}

std::unique_ptr<Executable> Session::executable_over(const ProgramKey& key,
                                                     InputPlaces places) const {
  return std::make_unique<Executable>(executable(key), std::move(places));
}

void Session::initialize() { executable({ProgramKind::kInitialize, 0}).run(); }

TensorView Session::weight(std::size_t i) const { return weight_views_[i]; }

std::vector<TensorPart> Session::weight_parts() const {
  std::vector<TensorPart> parts;
  for (std::size_t i = 0; i < weights_.size(); ++i) {
    const TensorView& view = weight_views_[i];
    parts.push_back({i, view.window, view.type.shape, view.data, owned_[i]});
  }
  return parts;
}

void Session::load_weights(const std::string& file) {
  together(world(), [&] {
    const SafetensorsFile stored(file);
    stored.check_tensors(weights_);
    std::vector<std::byte> buffer;
    for (std::size_t i = 0; i < weights_.size(); ++i) {
      const TensorView& view = weight_views_[i];
      buffer.resize(static_cast<std::size_t>(num_bytes(view.type)));
      stored.read(weights_[i], view.window, view.type.shape, buffer.data());
      backend_->copy_to_device(view.data, buffer.data(), num_bytes(view.type));
    }
  });
}

void Session::save_weights(const std::string& file) const {
  write_safetensors(file, weights_, weight_parts(), {}, world());
}

std::uint64_t Session::weights_digest() const { return digest(weights_, weight_parts(), world()); }

WeightsCopy Session::copy_weights() const {
  WeightsCopy copy;
  for (const TensorView& view : weight_views_) {
    copy.emplace_back(static_cast<std::size_t>(num_bytes(view.type)));
    backend_->copy_to_host(copy.back().data(), view.data, num_bytes(view.type));
  }
  return copy;
}

void Session::restore_weights(const WeightsCopy& copy) {
  MW_CHECK(copy.size() == weight_views_.size());
  for (std::size_t i = 0; i < copy.size(); ++i) {
    const TensorView& view = weight_views_[i];
    backend_->copy_to_device(view.data, copy[i].data(), num_bytes(view.type));
  }
}

void Session::take_averages() { executable({ProgramKind::kAverage, 0}).run(); }

}  // namespace meshwork
