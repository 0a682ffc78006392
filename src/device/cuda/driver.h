#pragma once

#include <cuda.h>

#include <string_view>

namespace meshwork::cuda {

/// Functions of the driver that are called here. Headers give some of them the names of newer
/// versions by macros, which the list is expanded through.
// clang-format off
#define MW_DRIVER_FUNCTIONS(MW_FUNCTION) \
  MW_FUNCTION(cuCtxEnablePeerAccess) \
  MW_FUNCTION(cuCtxSetCurrent) \
  MW_FUNCTION(cuDeviceCanAccessPeer) \
  MW_FUNCTION(cuDeviceGet) \
  MW_FUNCTION(cuDeviceGetAttribute) \
  MW_FUNCTION(cuDeviceGetCount) \
  MW_FUNCTION(cuDeviceGetName) \
  MW_FUNCTION(cuDeviceGetUuid) \
  MW_FUNCTION(cuDevicePrimaryCtxRetain) \
  MW_FUNCTION(cuDeviceTotalMem) \
  MW_FUNCTION(cuDriverGetVersion) \
  MW_FUNCTION(cuEventCreate) \
  MW_FUNCTION(cuEventDestroy) \
  MW_FUNCTION(cuEventElapsedTime) \
  MW_FUNCTION(cuEventQuery) \
  MW_FUNCTION(cuEventRecord) \
  MW_FUNCTION(cuEventSynchronize) \
  MW_FUNCTION(cuGetErrorName) \
  MW_FUNCTION(cuGetErrorString) \
  MW_FUNCTION(cuGraphDestroy) \
  MW_FUNCTION(cuGraphExecDestroy) \
  MW_FUNCTION(cuGraphInstantiate) \
  MW_FUNCTION(cuGraphLaunch) \
  MW_FUNCTION(cuInit) \
  MW_FUNCTION(cuIpcCloseMemHandle) \
  MW_FUNCTION(cuIpcGetEventHandle) \
  MW_FUNCTION(cuIpcGetMemHandle) \
  MW_FUNCTION(cuIpcOpenEventHandle) \
  MW_FUNCTION(cuIpcOpenMemHandle) \
  MW_FUNCTION(cuLaunchKernel) \
  MW_FUNCTION(cuMemAlloc) \
  MW_FUNCTION(cuMemFree) \
  MW_FUNCTION(cuMemFreeHost) \
  MW_FUNCTION(cuMemGetInfo) \
  MW_FUNCTION(cuMemHostAlloc) \
  MW_FUNCTION(cuMemcpyDtoDAsync) \
  MW_FUNCTION(cuMemcpyDtoHAsync) \
  MW_FUNCTION(cuMemcpyHtoDAsync) \
  MW_FUNCTION(cuMemsetD8Async) \
  MW_FUNCTION(cuModuleGetFunction) \
  MW_FUNCTION(cuModuleLoadData) \
  MW_FUNCTION(cuStreamBeginCapture) \
  MW_FUNCTION(cuStreamCreate) \
  MW_FUNCTION(cuStreamDestroy) \
  MW_FUNCTION(cuStreamEndCapture) \
  MW_FUNCTION(cuStreamQuery) \
  MW_FUNCTION(cuStreamSynchronize) \
  MW_FUNCTION(cuStreamWaitEvent)
// clang-format on

/// The same as a table, each under its name.
struct Driver {
#define MW_MEMBER(name) decltype(&::name) name;
  MW_DRIVER_FUNCTIONS(MW_MEMBER)
#undef MW_MEMBER
};

/// The driver of this machine, opened and initialized by the first call. Throws a configuration
/// Error where there is none, none that is new enough, or no GPU.
const Driver& driver();

/// Throws an Error with the driver's words, of ExitCode::kCommunication, for a GPU that fails is
/// lost (lost.h); of ExitCode::kTraining where memory is short.
/// `what` says what was tried: "copying 4096 bytes".
void check(CUresult result, std::string_view what);

}  // namespace meshwork::cuda
