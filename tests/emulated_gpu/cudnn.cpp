// The emulated cuDNN: what graphs of one convolution or of attention need, checked as cuDNN 9.19
// checks it, and computed in the order of the driver's streams.
#include <cudnn_graph.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <new>
#include <string>
#include <utility>

#include "emulated_gpu/context.h"
#include "emulated_gpu/cudnn_engines.h"
#include "emulated_gpu/cudnn_numbers.h"
#include "emulated_gpu/cudnn_work.h"
#include "emulated_gpu/memory.h"
#include "emulated_gpu/real_cudnn.h"
#include "emulated_gpu/region.h"

struct cudnnContext {
  emulated_gpu::Context* context = nullptr;
  cudaStream_t stream = nullptr;
};

namespace {

using emulated_gpu::cudnn::Descriptor;
using emulated_gpu::cudnn::Engine;
using emulated_gpu::cudnn::of;
using emulated_gpu::cudnn::Tensor;
using emulated_gpu::cudnn::Work;

bool fails() { return std::getenv("EMULATED_GPU_FAIL_CUDNN") != nullptr; }

/// Writes what there is; the caller asks how many with no room at all.
template <class T>
cudnnStatus_t give(const std::vector<T>& values, std::int64_t room, std::int64_t* count,
                   void* place) {
  if (count != nullptr) *count = static_cast<std::int64_t>(values.size());
  if (room < 0 || (room > 0 && place == nullptr)) return CUDNN_STATUS_BAD_PARAM;
  std::copy_n(values.begin(), std::min<std::size_t>(static_cast<std::size_t>(room), values.size()),
              static_cast<T*>(place));
  return CUDNN_STATUS_SUCCESS;
}

/// Those of the real cuDNN.
cudnnStatus_t give_real_engines(const Descriptor& heuristic, std::int64_t room, std::int64_t* count,
                                void* places) {
  namespace real = emulated_gpu::cudnn::real;
  auto** const made = static_cast<Descriptor**>(places);
  const std::int64_t given = room == 0 ? real::count_engines(heuristic)
                                       : real::fill_engines(heuristic, {made, made + room});
  for (std::int64_t i = 0; i < std::min(room, given); ++i) {
    made[i]->values = heuristic.values;  // the graph
    made[i]->finalized = true;
  }
  if (count != nullptr) *count = given;
  return CUDNN_STATUS_SUCCESS;
}

/// Each engine as a configuration, in descriptions that the caller has made.
cudnnStatus_t give_engines(const Descriptor& heuristic, std::int64_t room, std::int64_t* count,
                           void* places) {
  const Descriptor& graph = *heuristic.other(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH);
  // Kernels for a convolution and a copy it compiles for seconds.
  const bool is_quick = graph.count(CUDNN_ATTR_OPERATIONGRAPH_OPS) != 2;
  if (is_quick && emulated_gpu::cudnn::real::is_there()) {
    return give_real_engines(heuristic, room, count, places);
  }
  const std::vector<Engine> engines = emulated_gpu::cudnn::engines_for(graph);
  const auto all = static_cast<std::int64_t>(engines.size());
  if (count != nullptr) *count = room == 0 ? all : std::min(room, all);
  for (std::int64_t i = 0; i < std::min(room, all); ++i) {
    Descriptor* const made = static_cast<Descriptor**>(places)[i];
    if (made == nullptr || made->type != CUDNN_BACKEND_ENGINECFG_DESCRIPTOR) {
      return CUDNN_STATUS_BAD_PARAM;
    }
    made->engine = engines[static_cast<std::size_t>(i)];
    made->values = heuristic.values;  // the graph
    made->finalized = true;
  }
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t get_value(const Descriptor& descriptor, int name, cudnnBackendAttributeType_t type,
                        std::int64_t room, std::int64_t* count, void* places) {
  const auto is = [&](cudnnBackendDescriptorType_t of_type, int of_name,
                      cudnnBackendAttributeType_t value) {
    return descriptor.type == of_type && name == of_name && type == value;
  };
  if (is(CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR, CUDNN_ATTR_ENGINEHEUR_RESULTS,
         CUDNN_TYPE_BACKEND_DESCRIPTOR)) {
    return give_engines(descriptor, room, count, places);
  }
  if (is(CUDNN_BACKEND_ENGINECFG_DESCRIPTOR, CUDNN_ATTR_ENGINECFG_ENGINE,
         CUDNN_TYPE_BACKEND_DESCRIPTOR)) {
    if (room != 1 || places == nullptr) return CUDNN_STATUS_BAD_PARAM;
    Descriptor* const made = static_cast<Descriptor**>(places)[0];
    if (made == nullptr || made->type != CUDNN_BACKEND_ENGINE_DESCRIPTOR) {
      return CUDNN_STATUS_BAD_PARAM;
    }
    made->engine = descriptor.engine;
    made->finalized = true;
    if (count != nullptr) *count = 1;
    return CUDNN_STATUS_SUCCESS;
  }
  if (is(CUDNN_BACKEND_ENGINE_DESCRIPTOR, CUDNN_ATTR_ENGINE_NUMERICAL_NOTE,
         CUDNN_TYPE_NUMERICAL_NOTE)) {
    return give(descriptor.engine.notes, room, count, places);
  }
  if (is(CUDNN_BACKEND_ENGINE_DESCRIPTOR, CUDNN_ATTR_ENGINE_BEHAVIOR_NOTE,
         CUDNN_TYPE_BEHAVIOR_NOTE)) {
    std::vector<cudnnBackendBehaviorNote_t> notes;
    if (descriptor.engine.is_compiled) notes.push_back(CUDNN_BEHAVIOR_NOTE_RUNTIME_COMPILATION);
    return give(notes, room, count, places);
  }
  if (is(CUDNN_BACKEND_ENGINE_DESCRIPTOR, CUDNN_ATTR_ENGINE_GLOBAL_INDEX, CUDNN_TYPE_INT64)) {
    return give(std::vector<std::int64_t>{descriptor.engine.index}, room, count, places);
  }
  if (is(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR, CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE,
         CUDNN_TYPE_INT64)) {
    return give(std::vector<std::int64_t>{descriptor.work->engine.workspace}, room, count, places);
  }
  // The choices of the real one are not kept, nor what was kept taken for them.
  if (is(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR, CUDNN_ATTR_EXECUTION_PLAN_JSON_REPRESENTATION,
         CUDNN_TYPE_CHAR) &&
      !emulated_gpu::cudnn::real::is_there()) {
    const std::string text = descriptor.work->text();
    return give(std::vector<char>(text.begin(), text.end()), room, count, places);
  }
  return CUDNN_STATUS_BAD_PARAM;
}

/// Where a tensor lies, or which number it is, which the pack says by its number; false where it
/// does not, or not so aligned.
bool place(const Descriptor& pack, Tensor& tensor) {
  const auto ids = pack.integers(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS);
  const auto pointers = pack.all<std::byte*>(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS);
  const auto found = std::find(ids.begin(), ids.end(), tensor.id);
  if (found == ids.end()) return false;
  std::byte* const given = pointers[static_cast<std::size_t>(found - ids.begin())];
  if (given == nullptr ||
      reinterpret_cast<std::uintptr_t>(given) % static_cast<std::uintptr_t>(tensor.alignment) !=
          0) {
    return false;
  }
  if (tensor.is_by_value) {
    tensor.value = emulated_gpu::cudnn::read(given, tensor.type, 0);
  } else {
    tensor.data = given;
  }
  return true;
}

bool is_reachable(const Tensor& tensor) {
  const auto bytes =
      static_cast<std::size_t>(tensor.span()) * emulated_gpu::cudnn::size_of(tensor.type);
  return tensor.is_by_value ||
         emulated_gpu::is_device_memory(reinterpret_cast<CUdeviceptr>(tensor.data), bytes);
}

CUresult run(Work& work) {
  const bool has_workspace =
      work.engine.workspace == 0 ||
      emulated_gpu::is_device_memory(reinterpret_cast<CUdeviceptr>(work.workspace),
                                     static_cast<std::size_t>(work.engine.workspace));
  const auto tensors = work.tensors();
  const bool has_tensors = std::all_of(tensors.begin(), tensors.end(),
                                       [](const Tensor* tensor) { return is_reachable(*tensor); });
  if (!has_workspace || !has_tensors) return CUDA_ERROR_ILLEGAL_ADDRESS;
  const emulated_gpu::Access access;
  work.compute();
  return CUDA_SUCCESS;
}

bool prepare(const Descriptor& pack, Work& work) {
  work.workspace = pack.one<std::byte*>(CUDNN_ATTR_VARIANT_PACK_WORKSPACE);
  const auto tensors = work.tensors();
  return std::all_of(tensors.begin(), tensors.end(),
                     [&](Tensor* tensor) { return place(pack, *tensor); }) &&
         (work.engine.workspace == 0 || work.workspace != nullptr);
}

/// Of a plan with its algorithm, or with the text of another.
std::unique_ptr<Work> work_of(const Descriptor& plan) {
  if (!plan.has(CUDNN_ATTR_EXECUTION_PLAN_JSON_REPRESENTATION)) {
    const Descriptor& chosen = *plan.other(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG);
    return Work::of(*chosen.other(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH), chosen.engine);
  }
  const auto text = plan.all<char>(CUDNN_ATTR_EXECUTION_PLAN_JSON_REPRESENTATION);
  return Work::from({text.begin(), text.end()});
}

/// A plan that fits together; of the real cuDNN's algorithms it says how much scratch they take.
cudnnStatus_t finish_plan(Descriptor& plan) {
  std::unique_ptr<Work> work = work_of(plan);
  if (work == nullptr) return CUDNN_STATUS_BAD_PARAM;
  if (work->engine.is_real) {
    const cudnnStatus_t status = emulated_gpu::cudnn::real::finalize(plan);
    if (status != CUDNN_STATUS_SUCCESS) return status;
    work->engine.workspace = emulated_gpu::cudnn::real::workspace(plan);
  }
  plan.work = std::move(work);
  return CUDNN_STATUS_SUCCESS;
}

}  // namespace

std::size_t cudnnGetVersion() { return CUDNN_VERSION; }

const char* cudnnGetErrorString(cudnnStatus_t status) {
  switch (CUDNN_STATUS_CATEGORY(status)) {
    case 0:
      return "CUDNN_STATUS_SUCCESS";
    case CUDNN_STATUS_BAD_PARAM:
      return "CUDNN_STATUS_BAD_PARAM";
    case CUDNN_STATUS_NOT_SUPPORTED:
      return "CUDNN_STATUS_NOT_SUPPORTED";
    case CUDNN_STATUS_EXECUTION_FAILED:
      return "CUDNN_STATUS_EXECUTION_FAILED";
    default:
      return "CUDNN_STATUS_NOT_INITIALIZED";
  }
}

cudnnStatus_t cudnnCreate(cudnnHandle_t* handle) {
  if (handle == nullptr) return CUDNN_STATUS_BAD_PARAM_NULL_POINTER;
  if (fails() || emulated_gpu::check_context() != CUDA_SUCCESS) return CUDNN_STATUS_NOT_INITIALIZED;
  *handle = new (std::nothrow) cudnnContext{emulated_gpu::current_context()};
  return *handle == nullptr ? CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED
                            : CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnDestroy(cudnnHandle_t handle) {
  delete handle;
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnSetStream(cudnnHandle_t handle, cudaStream_t stream) {
  if (handle == nullptr) return CUDNN_STATUS_BAD_PARAM_NULL_POINTER;
  emulated_gpu::Stream* found = nullptr;
  if (fails() || emulated_gpu::find_stream(stream, found) != CUDA_SUCCESS || found == nullptr ||
      &found->context() != handle->context) {
    return CUDNN_STATUS_BAD_PARAM_STREAM_MISMATCH;
  }
  handle->stream = stream;
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnBackendCreateDescriptor(cudnnBackendDescriptorType_t type,
                                           cudnnBackendDescriptor_t* descriptor) {
  if (descriptor == nullptr) return CUDNN_STATUS_BAD_PARAM_NULL_POINTER;
  auto* const made = new (std::nothrow) Descriptor{type};
  if (made == nullptr) return CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED;
  if (emulated_gpu::cudnn::real::is_there()) made->twin = emulated_gpu::cudnn::real::create(type);
  *descriptor = made;
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnBackendDestroyDescriptor(cudnnBackendDescriptor_t descriptor) {
  if (descriptor != nullptr && of(descriptor)->twin != nullptr) {
    emulated_gpu::cudnn::real::destroy(of(descriptor)->twin);
  }
  delete of(descriptor);
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnBackendSetAttribute(cudnnBackendDescriptor_t descriptor,
                                       cudnnBackendAttributeName_t name,
                                       cudnnBackendAttributeType_t type, std::int64_t count,
                                       const void* elements) {
  if (descriptor == nullptr || elements == nullptr) return CUDNN_STATUS_BAD_PARAM_NULL_POINTER;
  Descriptor& own = *of(descriptor);
  if (own.finalized || (type == CUDNN_TYPE_CHAR && emulated_gpu::cudnn::real::is_there())) {
    return CUDNN_STATUS_BAD_PARAM;
  }
  const cudnnStatus_t status = emulated_gpu::cudnn::check_attribute(own, name, type, count);
  if (status != CUDNN_STATUS_SUCCESS) return status;
  const std::size_t bytes = static_cast<std::size_t>(count) * emulated_gpu::cudnn::bytes_of(type);
  const auto* const begin = static_cast<const std::byte*>(elements);
  own.values[name] = {type, count, {begin, begin + bytes}};
  return own.twin == nullptr ? status : emulated_gpu::cudnn::real::set(own, name, own.values[name]);
}

cudnnStatus_t cudnnBackendFinalize(cudnnBackendDescriptor_t descriptor) {
  if (descriptor == nullptr) return CUDNN_STATUS_BAD_PARAM_NULL_POINTER;
  Descriptor& own = *of(descriptor);
  if (own.finalized) return CUDNN_STATUS_BAD_PARAM;
  cudnnStatus_t status = emulated_gpu::cudnn::check_whole(own);
  if (status == CUDNN_STATUS_SUCCESS && own.type == CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR) {
    status = finish_plan(own);
  } else if (status == CUDNN_STATUS_SUCCESS && own.twin != nullptr) {
    status = emulated_gpu::cudnn::real::finalize(own);
  }
  own.finalized = status == CUDNN_STATUS_SUCCESS;
  return status;
}

cudnnStatus_t cudnnBackendGetAttribute(cudnnBackendDescriptor_t const descriptor,
                                       cudnnBackendAttributeName_t name,
                                       cudnnBackendAttributeType_t type, std::int64_t room,
                                       std::int64_t* count, void* elements) {
  if (descriptor == nullptr) return CUDNN_STATUS_BAD_PARAM_NULL_POINTER;
  if (!of(descriptor)->finalized) return CUDNN_STATUS_NOT_INITIALIZED;
  return get_value(*of(descriptor), name, type, room, count, elements);
}

cudnnStatus_t cudnnBackendExecute(cudnnHandle_t handle, cudnnBackendDescriptor_t plan,
                                  cudnnBackendDescriptor_t pack) {
  if (handle == nullptr || plan == nullptr || pack == nullptr) {
    return CUDNN_STATUS_BAD_PARAM_NULL_POINTER;
  }
  if (!of(plan)->finalized || !of(pack)->finalized ||
      of(plan)->type != CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR ||
      of(pack)->type != CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR) {
    return CUDNN_STATUS_BAD_PARAM;
  }
  const std::shared_ptr<Work> work = of(plan)->work->copy();
  if (!prepare(*of(pack), *work)) return CUDNN_STATUS_BAD_PARAM;
  if (emulated_gpu::check_context() != CUDA_SUCCESS ||
      emulated_gpu::current_context() != handle->context) {
    return CUDNN_STATUS_EXECUTION_FAILED;
  }
  const CUresult result = emulated_gpu::enqueue(handle->stream, [work] { return run(*work); });
  return result == CUDA_SUCCESS ? CUDNN_STATUS_SUCCESS : CUDNN_STATUS_EXECUTION_FAILED;
}
