// Modules and launches.
#include <cuda.h>

#include <algorithm>
#include <memory>

#include "emulated_gpu/block.h"
#include "emulated_gpu/capture.h"
#include "emulated_gpu/context.h"
#include "emulated_gpu/module.h"
#include "emulated_gpu/region.h"

namespace {

using emulated_gpu::Arguments;
using emulated_gpu::check_context;
using emulated_gpu::current_context;
using emulated_gpu::Extent;
using emulated_gpu::Function;
using emulated_gpu::Module;

constexpr unsigned kThreads = 1024;
constexpr unsigned kSharedBytes = 48U << 10U;

Module* from(CUmodule module) { return reinterpret_cast<Module*>(module); }
const Function* from(CUfunction function) { return reinterpret_cast<const Function*>(function); }

CUresult check_extents(const Extent& grid, const Extent& block) {
  const bool empty =
      grid.x == 0 || grid.y == 0 || grid.z == 0 || block.x == 0 || block.y == 0 || block.z == 0;
  if (empty || grid.x > 2147483647U || grid.y > 65535U || grid.z > 65535U) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  if (block.x > kThreads || block.y > kThreads || block.z > 64U) return CUDA_ERROR_INVALID_VALUE;
  return block.x * block.y * block.z > kThreads ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

}  // namespace

CUresult cuModuleLoadData(CUmodule* module, const void* image) {
  CUresult result = check_context();
  if (result == CUDA_SUCCESS) result = emulated_gpu::check_unsafe_call();
  if (result != CUDA_SUCCESS) return result;
  if (module == nullptr || image == nullptr) return CUDA_ERROR_INVALID_VALUE;
  Module* const loaded = Module::load(*current_context(), image);
  if (loaded == nullptr) return CUDA_ERROR_INVALID_IMAGE;
  emulated_gpu::watch_faults();
  *module = reinterpret_cast<CUmodule>(loaded);
  return CUDA_SUCCESS;
}

CUresult cuModuleLoadDataEx(CUmodule* module, const void* image, unsigned, CUjit_option*, void**) {
  return cuModuleLoadData(module, image);
}

/// Waits for all work of the context.
CUresult cuModuleUnload(CUmodule module) {
  const CUresult result = check_context();
  if (module == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  const CUresult forbidden = emulated_gpu::check_unsafe_call();
  if (forbidden != CUDA_SUCCESS) return forbidden;
  from(module)->context().synchronize(false);
  delete from(module);
  return result;
}

CUresult cuModuleGetFunction(CUfunction* function, CUmodule module, const char* name) {
  const CUresult result = check_context();
  if (result != CUDA_SUCCESS) return result;
  if (module == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (function == nullptr || name == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const Function* const found = from(module)->find(name);
  if (found == nullptr) return CUDA_ERROR_NOT_FOUND;
  *function = reinterpret_cast<CUfunction>(const_cast<Function*>(found));
  return CUDA_SUCCESS;
}

CUresult cuFuncGetAttribute(int* value, CUfunction_attribute attribute, CUfunction function) {
  const CUresult result = check_context();
  if (result != CUDA_SUCCESS) return result;
  if (value == nullptr || function == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (attribute != CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK) return CUDA_ERROR_NOT_SUPPORTED;
  *value = kThreads;
  return CUDA_SUCCESS;
}

/// No attribute changes what kernels do here.
CUresult cuFuncSetAttribute(CUfunction function, CUfunction_attribute attribute, int value) {
  const CUresult result = check_context();
  if (result != CUDA_SUCCESS) return result;
  if (function == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  const bool dynamic = attribute == CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
  const bool too_much = dynamic && value > static_cast<int>(kSharedBytes);
  return too_much || value < 0 ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

CUresult cuOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, CUfunction function, int size,
                                                     std::size_t) {
  const CUresult result = check_context();
  if (result != CUDA_SUCCESS) return result;
  if (blocks == nullptr || function == nullptr || size <= 0) return CUDA_ERROR_INVALID_VALUE;
  const bool fits = size <= static_cast<int>(kThreads);
  *blocks = fits ? std::min(32, 2048 / ((size + 31) / 32 * 32)) : 0;
  return CUDA_SUCCESS;
}

CUresult cuLaunchKernel(CUfunction handle, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                        unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared_bytes,
                        CUstream stream, void** arguments, void** extra) {
  CUresult result = check_context();
  if (result != CUDA_SUCCESS) return result;
  if (handle == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  const Function* const function = from(handle);
  const Extent grid{grid_x, grid_y, grid_z};
  const Extent block{block_x, block_y, block_z};
  result = check_extents(grid, block);
  if (result != CUDA_SUCCESS) return result;
  const bool lacks_arguments = function->kernel->parameters > 0 && arguments == nullptr;
  if (shared_bytes > kSharedBytes || lacks_arguments) return CUDA_ERROR_INVALID_VALUE;
  if (extra != nullptr) return CUDA_ERROR_NOT_SUPPORTED;
  emulated_gpu::Stream* found = nullptr;
  result = emulated_gpu::find_stream(stream, found);
  if (result != CUDA_SUCCESS) return result;
  if (&found->context() != &function->module->context()) return CUDA_ERROR_INVALID_HANDLE;
  const auto kept = std::make_shared<Arguments>(*function->kernel, arguments);
  return emulated_gpu::enqueue(stream, [function, kept, grid, block] {
    return emulated_gpu::run(*function, *kept, grid, block);
  });
}
