#include "backend/cuda/cudnn/plan.h"

#include <algorithm>

#include "base/error.h"

namespace meshwork::cuda::cudnn {
namespace {

/// More notes than any version has.
constexpr std::int64_t kMostNotes = 64;

std::vector<Descriptor> algorithms_of(const Descriptor& graph) {
  Descriptor heuristic(CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
  heuristic.set(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, graph.get());
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

/// The engine of an algorithm, which tells what is to be known of it.
Descriptor engine_of(const Descriptor& algorithm) {
  Descriptor engine(CUDNN_BACKEND_ENGINE_DESCRIPTOR);
  cudnnBackendDescriptor_t place = engine.get();
  algorithm.get_all(CUDNN_ATTR_ENGINECFG_ENGINE, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &place);
  return engine;
}

template <class Note>
std::vector<Note> notes_of(const Descriptor& engine, cudnnBackendAttributeName_t name,
                           cudnnBackendAttributeType_t type) {
  std::vector<Note> notes(kMostNotes);
  notes.resize(static_cast<std::size_t>(engine.get_all(name, type, kMostNotes, notes.data())));
  return notes;
}

/// Notes of other kinds tell of sums in another order each time, or of operands and sums that are
/// rounded on the way.
bool is_exact(const Descriptor& engine, const Problem& problem) {
  bool tensor_cores = false;
  for (const auto note : notes_of<cudnnBackendNumericalNote_t>(
           engine, CUDNN_ATTR_ENGINE_NUMERICAL_NOTE, CUDNN_TYPE_NUMERICAL_NOTE)) {
    if (note == CUDNN_NUMERICAL_NOTE_STRICT_NAN_PROP) continue;
    if (note != CUDNN_NUMERICAL_NOTE_TENSOR_CORE) return false;
    tensor_cores = true;
  }
  return tensor_cores || problem.tensor_cores == TensorCores::kMay;
}

bool compiles(const Descriptor& engine) {
  const auto notes = notes_of<cudnnBackendBehaviorNote_t>(engine, CUDNN_ATTR_ENGINE_BEHAVIOR_NOTE,
                                                          CUDNN_TYPE_BEHAVIOR_NOTE);
  return std::find(notes.begin(), notes.end(), CUDNN_BEHAVIOR_NOTE_RUNTIME_COMPILATION) !=
         notes.end();
}

bool fits(const Descriptor& plan, const Problem& problem) {
  return plan.integer(CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE) <= problem.workspace;
}

/// The plan, if it fits; an algorithm that cannot do it after all is no failure.
std::optional<Descriptor> plan_with(cudnnHandle_t handle, const Descriptor& algorithm,
                                    const Problem& problem) {
  try {
    Descriptor plan(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
    plan.set(CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_TYPE_HANDLE, handle);
    plan.set(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, algorithm.get());
    plan.finalize();
    if (!fits(plan, problem)) return std::nullopt;
    return plan;
  } catch (const Error&) {
    return std::nullopt;
  }
}

}  // namespace

std::optional<Plan> Plan::choose(cudnnHandle_t handle, const Problem& problem) {
  try {
    std::vector<Descriptor> descriptions = problem.describe(handle);
    for (Descriptor& algorithm : algorithms_of(descriptions.back())) {
      const Descriptor engine = engine_of(algorithm);
      if (!is_exact(engine, problem)) continue;
      std::optional<Descriptor> plan = plan_with(handle, algorithm, problem);
      if (!plan) continue;
      descriptions.push_back(std::move(algorithm));
      return Plan(std::move(descriptions), std::move(*plan), compiles(engine));
    }
  } catch (const Error&) {
    // Our own kernels take what cuDNN does not.
  }
  return std::nullopt;
}

std::optional<Plan> Plan::read(cudnnHandle_t handle, const std::string& text,
                               const Problem& problem) {
  try {
    Descriptor plan(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
    plan.set(CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_TYPE_HANDLE, handle);
    plan.set_all(CUDNN_ATTR_EXECUTION_PLAN_JSON_REPRESENTATION, CUDNN_TYPE_CHAR,
                 static_cast<std::int64_t>(text.size()), text.data());
    plan.finalize();
    if (fits(plan, problem)) return Plan({}, std::move(plan), true);
  } catch (const Error&) {
    // Of another version, or damaged: it is chosen anew.
  }
  return std::nullopt;
}

std::string Plan::text() const {
  try {
    constexpr cudnnBackendAttributeName_t kName = CUDNN_ATTR_EXECUTION_PLAN_JSON_REPRESENTATION;
    std::string text(static_cast<std::size_t>(plan_.count(kName, CUDNN_TYPE_CHAR)), '\0');
    const std::int64_t given =
        plan_.get_all(kName, CUDNN_TYPE_CHAR, static_cast<std::int64_t>(text.size()), text.data());
    text.resize(static_cast<std::size_t>(given));
    return text;
  } catch (const Error&) {
    return "";
  }
}

}  // namespace meshwork::cuda::cudnn
