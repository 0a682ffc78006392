#include "backend/cuda/windows/cudnn/plan.h"

#include <array>

#include "backend/cuda/windows/cudnn/graph.h"
#include "base/error.h"

namespace meshwork::cuda::windows {
namespace {

/// More notes than any version has.
constexpr std::int64_t kMostNotes = 64;

std::vector<Descriptor> algorithms_of(const Descriptor& graph) {
  Descriptor heuristic(CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
  heuristic.set(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, graph);
  heuristic.set(CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, CUDNN_HEUR_MODE_A);
  heuristic.finalize();
  const std::int64_t count =
      heuristic.count(CUDNN_ATTR_ENGINEHEUR_RESULTS, CUDNN_TYPE_BACKEND_DESCRIPTOR);
  std::vector<Descriptor> algorithms;
  std::vector<cudnnBackendDescriptor_t> places;
  for (std::int64_t i = 0; i < count; ++i) {
    algorithms.emplace_back(CUDNN_BACKEND_ENGINECFG_DESCRIPTOR);
    places.push_back(algorithms.back().get());
  }
  if (count == 0) return algorithms;
  const std::int64_t given = heuristic.get_all(CUDNN_ATTR_ENGINEHEUR_RESULTS,
                                               CUDNN_TYPE_BACKEND_DESCRIPTOR, count, places.data());
  algorithms.erase(algorithms.begin() + given, algorithms.end());
  return algorithms;
}

/// Notes of other kinds tell of sums in another order each time, or of operands and sums that are
/// rounded on the way.
bool is_exact(const Descriptor& algorithm, const Problem& problem) {
  const Descriptor engine(CUDNN_BACKEND_ENGINE_DESCRIPTOR);
  cudnnBackendDescriptor_t place = engine.get();
  algorithm.get_all(CUDNN_ATTR_ENGINECFG_ENGINE, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &place);
  std::array<cudnnBackendNumericalNote_t, kMostNotes> notes{};
  const std::int64_t count = engine.get_all(CUDNN_ATTR_ENGINE_NUMERICAL_NOTE,
                                            CUDNN_TYPE_NUMERICAL_NOTE, kMostNotes, notes.data());
  const bool narrow = problem.operand().dtype != DType::kFloat32;
  bool tensor_cores = false;
  for (std::int64_t i = 0; i < count; ++i) {
    const cudnnBackendNumericalNote_t note = notes.at(static_cast<std::size_t>(i));
    if (note == CUDNN_NUMERICAL_NOTE_STRICT_NAN_PROP) continue;
    if (note != CUDNN_NUMERICAL_NOTE_TENSOR_CORE) return false;
    tensor_cores = true;
  }
  // Of float32 tensor cores take 10 bits of the mantissa; of narrow dtypes all, and without them
  // our own kernels are no slower.
  return narrow ? tensor_cores : !tensor_cores || problem.tensor_float32;
}

/// The plan, if it fits; an algorithm that cannot do it after all is no failure.
std::optional<Descriptor> plan_with(cudnnHandle_t handle, const Descriptor& algorithm,
                                    const Problem& problem) {
  try {
    Descriptor plan(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
    plan.set(CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_TYPE_HANDLE, handle);
    plan.set(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, algorithm);
    plan.finalize();
    if (plan.integer(CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE) > problem.workspace) {
      return std::nullopt;
    }
    return plan;
  } catch (const Error&) {
    return std::nullopt;
  }
}

}  // namespace

std::optional<Plan> Plan::choose(cudnnHandle_t handle, const Problem& problem) {
  try {
    std::vector<Descriptor> descriptions = describe(handle, problem);
    for (Descriptor& algorithm : algorithms_of(descriptions.back())) {
      if (!is_exact(algorithm, problem)) continue;
      std::optional<Descriptor> plan = plan_with(handle, algorithm, problem);
      if (!plan) continue;
      descriptions.push_back(std::move(algorithm));
      return Plan(std::move(descriptions), std::move(*plan));
    }
  } catch (const Error&) {
    // Our own kernels take what cuDNN does not.
  }
  return std::nullopt;
}

}  // namespace meshwork::cuda::windows
