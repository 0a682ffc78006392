#include "emulated_gpu/cudnn_test_graph.h"

#include <algorithm>

namespace emulated_gpu::testing {
namespace {

constexpr std::int64_t kLeast = 1;
constexpr cudnnBackendAttributeName_t kText = CUDNN_ATTR_EXECUTION_PLAN_JSON_REPRESENTATION;

Description finished(Description description) {
  REQUIRE(finalize(description) == CUDNN_STATUS_SUCCESS);
  return description;
}

template <class Value>
std::vector<Value> get(Description of, cudnnBackendAttributeName_t name,
                       cudnnBackendAttributeType_t type, std::int64_t room) {
  std::vector<Value> values(static_cast<std::size_t>(room));
  std::int64_t count = 0;
  REQUIRE(CUDNN(cudnnBackendGetAttribute)(of, name, type, room, &count, values.data()) ==
          CUDNN_STATUS_SUCCESS);
  values.resize(static_cast<std::size_t>(std::min(room, count)));
  return values;
}

std::int64_t count(Description of, cudnnBackendAttributeName_t name,
                   cudnnBackendAttributeType_t type) {
  std::int64_t count = 0;
  REQUIRE(CUDNN(cudnnBackendGetAttribute)(of, name, type, 0, &count, nullptr) ==
          CUDNN_STATUS_SUCCESS);
  return count;
}

Description new_plan(cudnnHandle_t handle) {
  const Description made = create(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
  REQUIRE(set(made, CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_TYPE_HANDLE, handle) ==
          CUDNN_STATUS_SUCCESS);
  return made;
}

Choice choice_of(Description configuration) {
  Choice choice{configuration, {}, false};
  const Description engine = create(CUDNN_BACKEND_ENGINE_DESCRIPTOR);
  Description place = engine;
  std::int64_t given = 0;
  REQUIRE(CUDNN(cudnnBackendGetAttribute)(configuration, CUDNN_ATTR_ENGINECFG_ENGINE,
                                          CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &given,
                                          &place) == CUDNN_STATUS_SUCCESS);
  choice.notes = get<cudnnBackendNumericalNote_t>(engine, CUDNN_ATTR_ENGINE_NUMERICAL_NOTE,
                                                  CUDNN_TYPE_NUMERICAL_NOTE, 64);
  choice.is_compiled = !get<cudnnBackendBehaviorNote_t>(engine, CUDNN_ATTR_ENGINE_BEHAVIOR_NOTE,
                                                        CUDNN_TYPE_BEHAVIOR_NOTE, 64)
                            .empty();
  return choice;
}

/// Kept to the end of the process: work may be on its way.
void* scratch(std::int64_t bytes) {
  CUdeviceptr address = 0;
  REQUIRE(DRIVER(cuMemAlloc)(&address, static_cast<std::size_t>(std::max(bytes, kLeast))) ==
          CUDA_SUCCESS);
  at_end([free = &DRIVER(cuMemFree), address] { free(address); });
  return reinterpret_cast<void*>(address);
}

}  // namespace

Description create(cudnnBackendDescriptorType_t type) {
  Description made = nullptr;
  REQUIRE(CUDNN(cudnnBackendCreateDescriptor)(type, &made) == CUDNN_STATUS_SUCCESS);
  at_end([destroy = &CUDNN(cudnnBackendDestroyDescriptor), made] { destroy(made); });
  return made;
}

cudnnHandle_t create_handle(CUstream stream) {
  cudnnHandle_t handle = nullptr;
  REQUIRE(CUDNN(cudnnCreate)(&handle) == CUDNN_STATUS_SUCCESS);
  at_end([destroy = &CUDNN(cudnnDestroy), handle] { destroy(handle); });
  REQUIRE(CUDNN(cudnnSetStream)(handle, reinterpret_cast<cudaStream_t>(stream)) ==
          CUDNN_STATUS_SUCCESS);
  return handle;
}

cudnnStatus_t set(Description of, cudnnBackendAttributeName_t name, const Integers& values) {
  return CUDNN(cudnnBackendSetAttribute)(of, name, CUDNN_TYPE_INT64,
                                         static_cast<std::int64_t>(values.size()), values.data());
}

cudnnStatus_t set(Description of, cudnnBackendAttributeName_t name,
                  const std::vector<Description>& others) {
  return CUDNN(cudnnBackendSetAttribute)(of, name, CUDNN_TYPE_BACKEND_DESCRIPTOR,
                                         static_cast<std::int64_t>(others.size()), others.data());
}

cudnnStatus_t finalize(Description description) { return CUDNN(cudnnBackendFinalize)(description); }

Description tensor(std::int64_t id, const Integers& dims, const Integers& strides,
                   std::int64_t alignment) {
  const Description made = create(CUDNN_BACKEND_TENSOR_DESCRIPTOR);
  set(made, CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, CUDNN_DATA_FLOAT);
  set(made, CUDNN_ATTR_TENSOR_DIMENSIONS, dims);
  set(made, CUDNN_ATTR_TENSOR_STRIDES, strides);
  set(made, CUDNN_ATTR_TENSOR_UNIQUE_ID, Integers{id});
  set(made, CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, Integers{alignment});
  return made;
}

Integers packed(const Integers& dims) {
  Integers strides(dims.size(), 1);
  for (std::size_t d = dims.size() - 1; d > 0; --d) strides[d - 1] = strides[d] * dims[d];
  return strides;
}

Description Graph::in_memory(std::int64_t id, cudnnDataType_t type, const Integers& dims,
                             const Integers& strides, std::int64_t alignment) {
  const Description made = tensor(id, dims, strides, alignment);
  set(made, CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, type);
  return finished(made);
}

Description Graph::by_value(std::int64_t id) {
  const Description made = tensor(id, {1, 1, 1, 1}, {1, 1, 1, 1}, 4);
  set(made, CUDNN_ATTR_TENSOR_IS_BY_VALUE, CUDNN_TYPE_BOOLEAN, true);
  return finished(made);
}

Description Graph::between(const Integers& dims, cudnnDataType_t type, Integers strides) {
  if (strides.empty()) strides = packed(dims);
  const Description made = tensor(++last_, dims, strides);
  set(made, CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, type);
  set(made, CUDNN_ATTR_TENSOR_IS_VIRTUAL, CUDNN_TYPE_BOOLEAN, true);
  return finished(made);
}

Description Graph::pointwise(cudnnPointwiseMode_t mode, const std::vector<Description>& from,
                             Description to, std::int64_t axis) {
  constexpr cudnnBackendAttributeName_t kNames[] = {CUDNN_ATTR_OPERATION_POINTWISE_XDESC,
                                                    CUDNN_ATTR_OPERATION_POINTWISE_BDESC,
                                                    CUDNN_ATTR_OPERATION_POINTWISE_TDESC};
  const Description kind = create(CUDNN_BACKEND_POINTWISE_DESCRIPTOR);
  set(kind, CUDNN_ATTR_POINTWISE_MODE, CUDNN_TYPE_POINTWISE_MODE, mode);
  set(kind, CUDNN_ATTR_POINTWISE_MATH_PREC, CUDNN_TYPE_DATA_TYPE, CUDNN_DATA_FLOAT);
  if (axis >= 0) set(kind, CUDNN_ATTR_POINTWISE_AXIS, Integers{axis});
  const Description made = create(CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR);
  set(made, CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, {finished(kind)});
  for (std::size_t i = 0; i < from.size(); ++i) set(made, kNames[i], {from[i]});
  set(made, CUDNN_ATTR_OPERATION_POINTWISE_YDESC, {to});
  operations_.push_back(finished(made));
  return to;
}

Description Graph::product(Description a, Description b, Description to) {
  const Description kind = create(CUDNN_BACKEND_MATMUL_DESCRIPTOR);
  set(kind, CUDNN_ATTR_MATMUL_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, CUDNN_DATA_FLOAT);
  const Description made = create(CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR);
  set(made, CUDNN_ATTR_OPERATION_MATMUL_DESC, {finished(kind)});
  set(made, CUDNN_ATTR_OPERATION_MATMUL_ADESC, {a});
  set(made, CUDNN_ATTR_OPERATION_MATMUL_BDESC, {b});
  set(made, CUDNN_ATTR_OPERATION_MATMUL_CDESC, {to});
  operations_.push_back(finished(made));
  return to;
}

Description Graph::reduction(cudnnReduceTensorOp_t how, Description from, Description to) {
  const Description kind = create(CUDNN_BACKEND_REDUCTION_DESCRIPTOR);
  set(kind, CUDNN_ATTR_REDUCTION_OPERATOR, CUDNN_TYPE_REDUCTION_OPERATOR_TYPE, how);
  set(kind, CUDNN_ATTR_REDUCTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, CUDNN_DATA_FLOAT);
  const Description made = create(CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR);
  set(made, CUDNN_ATTR_OPERATION_REDUCTION_DESC, {finished(kind)});
  set(made, CUDNN_ATTR_OPERATION_REDUCTION_XDESC, {from});
  set(made, CUDNN_ATTR_OPERATION_REDUCTION_YDESC, {to});
  operations_.push_back(finished(made));
  return to;
}

Description Graph::reshape(Description from, Description to) {
  const Description made = create(CUDNN_BACKEND_OPERATION_RESHAPE_DESCRIPTOR);
  set(made, CUDNN_ATTR_OPERATION_RESHAPE_XDESC, {from});
  set(made, CUDNN_ATTR_OPERATION_RESHAPE_YDESC, {to});
  operations_.push_back(finished(made));
  return to;
}

Description Graph::finish(cudnnHandle_t handle) const {
  const Description made = create(CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
  set(made, CUDNN_ATTR_OPERATIONGRAPH_OPS, operations_);
  set(made, CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_TYPE_HANDLE, handle);
  return finished(made);
}

bool Choice::has(cudnnBackendNumericalNote_t note) const {
  return std::find(notes.begin(), notes.end(), note) != notes.end();
}

bool Choice::is_exact() const { return notes.size() == 1 && has(CUDNN_NUMERICAL_NOTE_TENSOR_CORE); }

std::vector<Choice> choices(Description graph) {
  const Description heuristic = create(CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
  set(heuristic, CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, {graph});
  set(heuristic, CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, CUDNN_HEUR_MODE_A);
  finished(heuristic);
  std::vector<Description> places;
  for (std::int64_t i =
           count(heuristic, CUDNN_ATTR_ENGINEHEUR_RESULTS, CUDNN_TYPE_BACKEND_DESCRIPTOR);
       i > 0; --i) {
    places.push_back(create(CUDNN_BACKEND_ENGINECFG_DESCRIPTOR));
  }
  std::int64_t given = 0;
  if (places.empty()) return {};
  REQUIRE(CUDNN(cudnnBackendGetAttribute)(heuristic, CUDNN_ATTR_ENGINEHEUR_RESULTS,
                                          CUDNN_TYPE_BACKEND_DESCRIPTOR,
                                          static_cast<std::int64_t>(places.size()), &given,
                                          places.data()) == CUDNN_STATUS_SUCCESS);
  places.resize(static_cast<std::size_t>(given));
  std::vector<Choice> choices;
  for (const Description configuration : places) choices.push_back(choice_of(configuration));
  return choices;
}

Description plan(cudnnHandle_t handle, const Choice& choice) {
  const Description made = new_plan(handle);
  set(made, CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, {choice.configuration});
  return finalize(made) == CUDNN_STATUS_SUCCESS ? made : nullptr;
}

Description plan(cudnnHandle_t handle, const std::string& text) {
  const Description made = new_plan(handle);
  if (CUDNN(cudnnBackendSetAttribute)(made, kText, CUDNN_TYPE_CHAR,
                                      static_cast<std::int64_t>(text.size()),
                                      text.data()) != CUDNN_STATUS_SUCCESS) {
    return nullptr;
  }
  return finalize(made) == CUDNN_STATUS_SUCCESS ? made : nullptr;
}

Description exact_plan(cudnnHandle_t handle, Description graph) {
  for (const Choice& choice : choices(graph)) {
    const Description made = choice.is_exact() ? plan(handle, choice) : nullptr;
    if (made != nullptr) return made;
  }
  return nullptr;
}

std::int64_t workspace(Description plan) {
  return get<std::int64_t>(plan, CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE, CUDNN_TYPE_INT64, 1)
      .at(0);
}

std::string text(Description plan) {
  const auto letters = get<char>(plan, kText, CUDNN_TYPE_CHAR, count(plan, kText, CUDNN_TYPE_CHAR));
  return {letters.begin(), letters.end()};
}

cudnnStatus_t execute(cudnnHandle_t handle, Description plan,
                      const std::map<std::int64_t, void*>& pointers) {
  Integers ids;
  std::vector<void*> places;
  for (const auto& [id, place] : pointers) {
    ids.push_back(id);
    places.push_back(place);
  }
  const Description pack = create(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
  set(pack, CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, ids);
  CUDNN(cudnnBackendSetAttribute)
  (pack, CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR,
   static_cast<std::int64_t>(places.size()), places.data());
  set(pack, CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR, scratch(workspace(plan)));
  return CUDNN(cudnnBackendExecute)(handle, plan, finished(pack));
}

}  // namespace emulated_gpu::testing
