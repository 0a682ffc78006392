// Devices, contexts and errors. Functions here and in its siblings have the names that cuda.h's
// macros give them.
#include <cuda.h>

#include <cstdio>
#include <cstring>
#include <map>

#include "emulated_gpu/capture.h"
#include "emulated_gpu/context.h"
#include "emulated_gpu/memory.h"
#include "emulated_gpu/settings.h"

namespace {

using emulated_gpu::check_context;
using emulated_gpu::Context;
using emulated_gpu::context_of;
using emulated_gpu::current_context;
using emulated_gpu::settings;

constexpr int kSharedPerBlock = 48 << 10;

const std::map<int, int>& attributes() {
  static const std::map<int, int> table = {
      {CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK, 1024},
      {CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X, 1024},
      {CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y, 1024},
      {CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z, 64},
      {CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X, 2147483647},
      {CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y, 65535},
      {CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z, 65535},
      {CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK, kSharedPerBlock},
      {CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, kSharedPerBlock},
      {CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR, 2 * kSharedPerBlock},
      {CU_DEVICE_ATTRIBUTE_TOTAL_CONSTANT_MEMORY, 64 << 10},
      {CU_DEVICE_ATTRIBUTE_WARP_SIZE, 32},
      {CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK, 65536},
      {CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR, 65536},
      {CU_DEVICE_ATTRIBUTE_CLOCK_RATE, 1000000},
      {CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE, 1000000},
      {CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH, 64},
      {CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE, 1 << 20},
      {CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR, 2048},
      {CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR, 32},
      {CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 4},
      {CU_DEVICE_ATTRIBUTE_GPU_OVERLAP, 1},
      {CU_DEVICE_ATTRIBUTE_ASYNC_ENGINE_COUNT, 2},
      {CU_DEVICE_ATTRIBUTE_CONCURRENT_KERNELS, 1},
      {CU_DEVICE_ATTRIBUTE_CAN_MAP_HOST_MEMORY, 1},
      {CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING, 1},
      {CU_DEVICE_ATTRIBUTE_STREAM_PRIORITIES_SUPPORTED, 1},
      {CU_DEVICE_ATTRIBUTE_COMPUTE_MODE, CU_COMPUTEMODE_DEFAULT},
  };
  return table;
}

const std::map<int, std::pair<const char*, const char*>>& errors() {
#define ERROR(name, text) \
  {                       \
    name, { #name, text } \
  }
  static const std::map<int, std::pair<const char*, const char*>> table = {
      ERROR(CUDA_SUCCESS, "no error"),
      ERROR(CUDA_ERROR_INVALID_VALUE, "invalid argument"),
      ERROR(CUDA_ERROR_OUT_OF_MEMORY, "out of memory"),
      ERROR(CUDA_ERROR_NOT_INITIALIZED, "initialization error"),
      ERROR(CUDA_ERROR_NO_DEVICE, "no CUDA-capable device is detected"),
      ERROR(CUDA_ERROR_INVALID_DEVICE, "invalid device ordinal"),
      ERROR(CUDA_ERROR_INVALID_IMAGE, "device kernel image is invalid"),
      ERROR(CUDA_ERROR_INVALID_CONTEXT, "invalid device context"),
      ERROR(CUDA_ERROR_MAP_FAILED, "mapping of buffer object failed"),
      ERROR(CUDA_ERROR_INVALID_HANDLE, "invalid resource handle"),
      ERROR(CUDA_ERROR_NOT_FOUND, "named symbol not found"),
      ERROR(CUDA_ERROR_NOT_READY, "device not ready"),
      ERROR(CUDA_ERROR_ILLEGAL_ADDRESS, "an illegal memory access was encountered"),
      ERROR(CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES, "too many resources requested for launch"),
      ERROR(CUDA_ERROR_LAUNCH_FAILED, "unspecified launch failure"),
      ERROR(CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED, "peer access is already enabled"),
      ERROR(CUDA_ERROR_NOT_SUPPORTED, "operation not supported"),
      ERROR(CUDA_ERROR_ILLEGAL_STATE, "the operation cannot be performed in the present state"),
      ERROR(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED,
            "operation not permitted when stream is capturing"),
      ERROR(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED,
            "operation failed due to a previous error during capture"),
      ERROR(CUDA_ERROR_STREAM_CAPTURE_MERGE,
            "operation would result in a merge of separate capture sequences"),
      ERROR(CUDA_ERROR_STREAM_CAPTURE_UNMATCHED,
            "capture was not ended in the same stream as it began"),
      ERROR(CUDA_ERROR_STREAM_CAPTURE_UNJOINED, "capturing stream has unjoined work"),
      ERROR(CUDA_ERROR_STREAM_CAPTURE_ISOLATION,
            "dependency created on uncaptured work in another stream"),
      ERROR(CUDA_ERROR_STREAM_CAPTURE_IMPLICIT,
            "operation would make the legacy stream depend on a capturing blocking stream"),
      ERROR(CUDA_ERROR_CAPTURED_EVENT,
            "operation not permitted on an event last recorded in a capturing stream"),
      ERROR(CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD,
            "attempt to terminate a thread-local capture sequence from another thread"),
      ERROR(CUDA_ERROR_UNKNOWN, "unknown error"),
  };
#undef ERROR
  return table;
}

CUresult check_device(CUdevice device) {
  if (!emulated_gpu::initialized()) return CUDA_ERROR_NOT_INITIALIZED;
  return context_of(device) == nullptr ? CUDA_ERROR_INVALID_DEVICE : CUDA_SUCCESS;
}

Context* from(CUcontext context) { return reinterpret_cast<Context*>(context); }
CUcontext to(Context* context) { return reinterpret_cast<CUcontext>(context); }

}  // namespace

CUresult cuGetErrorName(CUresult error, const char** text) {
  const auto found = errors().find(error);
  *text = found == errors().end() ? nullptr : found->second.first;
  return *text == nullptr ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

CUresult cuGetErrorString(CUresult error, const char** text) {
  const auto found = errors().find(error);
  *text = found == errors().end() ? nullptr : found->second.second;
  return *text == nullptr ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

CUresult cuInit(unsigned flags) {
  if (flags != 0) return CUDA_ERROR_INVALID_VALUE;
  if (settings().gpus <= 0) return CUDA_ERROR_NO_DEVICE;
  emulated_gpu::initialize();
  return CUDA_SUCCESS;
}

/// The real NVRTC asks for a table of functions that no header names, and takes one without
/// entries: all that it has is its size. The CUDA runtime, which the real cuDNN has inside, calls
/// what stands in the first that it asks for: it gets none, and finds no driver.
CUresult cuGetExportTable(const void** table, const CUuuid* id) {
  static constexpr std::size_t kEmpty[] = {sizeof(std::size_t)};
  static constexpr unsigned char kOfRuntime[] = {0x6b, 0xd5, 0xfb, 0x6c, 0x5b, 0xf4, 0xe7, 0x4a,
                                                 0x89, 0x87, 0xd9, 0x39, 0x12, 0xfd, 0x9d, 0xf9};
  if (table == nullptr || id == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (std::memcmp(id->bytes, kOfRuntime, sizeof kOfRuntime) == 0) return CUDA_ERROR_NOT_FOUND;
  *table = kEmpty;
  return CUDA_SUCCESS;
}

CUresult cuDriverGetVersion(int* version) {
  if (version == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *version = settings().driver_version;
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetCount(int* count) {
  if (count == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (!emulated_gpu::initialized()) return CUDA_ERROR_NOT_INITIALIZED;
  *count = settings().gpus;
  return CUDA_SUCCESS;
}

CUresult cuDeviceGet(CUdevice* device, int ordinal) {
  if (device == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const CUresult result = check_device(ordinal);
  if (result == CUDA_SUCCESS) *device = ordinal;
  return result;
}

CUresult cuDeviceGetName(char* name, int bytes, CUdevice device) {
  const CUresult result = check_device(device);
  if (result != CUDA_SUCCESS) return result;
  if (name == nullptr || bytes <= 0) return CUDA_ERROR_INVALID_VALUE;
  std::snprintf(name, static_cast<std::size_t>(bytes), "Emulated GPU");
  return CUDA_SUCCESS;
}

CUresult cuDeviceTotalMem(std::size_t* bytes, CUdevice device) {
  const CUresult result = check_device(device);
  if (result == CUDA_SUCCESS) *bytes = settings().memory;
  return result;
}

CUresult cuDeviceGetAttribute(int* value, CUdevice_attribute attribute, CUdevice device) {
  const CUresult result = check_device(device);
  if (result != CUDA_SUCCESS) return result;
  if (value == nullptr || attribute <= 0 || attribute >= CU_DEVICE_ATTRIBUTE_MAX) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  if (attribute == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR) {
    *value = settings().major;
  } else if (attribute == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR) {
    *value = settings().minor;
  } else if (attribute == CU_DEVICE_ATTRIBUTE_IPC_EVENT_SUPPORTED) {
    *value = settings().shares ? 1 : 0;
  } else if (attribute == CU_DEVICE_ATTRIBUTE_PCI_BUS_ID) {
    *value = 1 + device;
  } else {
    const auto found = attributes().find(attribute);
    *value = found == attributes().end() ? 0 : found->second;
  }
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetUuid(CUuuid* uuid, CUdevice device) {
  const CUresult result = check_device(device);
  if (result != CUDA_SUCCESS) return result;
  std::memcpy(uuid->bytes, "emulated GPU", 13);
  std::memcpy(uuid->bytes + 12, &device, sizeof device);
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetPCIBusId(char* text, int bytes, CUdevice device) {
  const CUresult result = check_device(device);
  if (result != CUDA_SUCCESS) return result;
  if (text == nullptr || bytes < 13) return CUDA_ERROR_INVALID_VALUE;
  std::snprintf(text, static_cast<std::size_t>(bytes), "0000:%02X:00.0", unsigned(device) + 1U);
  return CUDA_SUCCESS;
}

CUresult cuDeviceCanAccessPeer(int* can, CUdevice device, CUdevice peer) {
  CUresult result = check_device(device);
  if (result == CUDA_SUCCESS) result = check_device(peer);
  if (result == CUDA_SUCCESS) *can = device != peer ? 1 : 0;
  return result;
}

CUresult cuDevicePrimaryCtxRetain(CUcontext* context, CUdevice device) {
  const CUresult result = check_device(device);
  if (result != CUDA_SUCCESS) return result;
  context_of(device)->retain();
  *context = to(context_of(device));
  return CUDA_SUCCESS;
}

CUresult cuDevicePrimaryCtxRelease(CUdevice device) {
  const CUresult result = check_device(device);
  if (result != CUDA_SUCCESS) return result;
  return context_of(device)->release() ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT;
}

CUresult cuCtxSetCurrent(CUcontext context) {
  if (!emulated_gpu::initialized()) return CUDA_ERROR_NOT_INITIALIZED;
  current_context() = from(context);
  return CUDA_SUCCESS;
}

CUresult cuCtxGetCurrent(CUcontext* context) {
  if (!emulated_gpu::initialized()) return CUDA_ERROR_NOT_INITIALIZED;
  *context = to(current_context());
  return CUDA_SUCCESS;
}

CUresult cuCtxGetDevice(CUdevice* device) {
  const CUresult result = check_context();
  if (current_context() != nullptr) *device = current_context()->device();
  return result;
}

CUresult cuCtxSynchronize() {
  CUresult result = check_context();
  if (result == CUDA_SUCCESS) result = emulated_gpu::check_none_capturing(*current_context());
  if (result != CUDA_SUCCESS) return result;
  current_context()->synchronize(false);
  return current_context()->failure();
}

CUresult cuCtxEnablePeerAccess(CUcontext peer, unsigned flags) {
  const CUresult result = check_context();
  if (result != CUDA_SUCCESS) return result;
  if (flags != 0) return CUDA_ERROR_INVALID_VALUE;
  if (peer == nullptr || from(peer) == current_context()) return CUDA_ERROR_INVALID_CONTEXT;
  const bool is_new = current_context()->enable_peer(from(peer)->device());
  return is_new ? CUDA_SUCCESS : CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED;
}

CUresult cuMemGetInfo(std::size_t* free, std::size_t* total) {
  const CUresult result = check_context();
  if (result != CUDA_SUCCESS) return result;
  *free = emulated_gpu::free_bytes(current_context()->device());
  *total = settings().memory;
  return CUDA_SUCCESS;
}
