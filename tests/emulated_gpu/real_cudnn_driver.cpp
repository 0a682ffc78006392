// The driver that the real cuDNN finds (real_cudnn.h): of a GPU that takes all kernels, so that
// plans can be made, and launches none.
#include <cuda.h>

// Those that are asked for by the names that they had before cuda.h's macros.
#undef cuCtxPushCurrent
#undef cuCtxPopCurrent
#undef cuLinkCreate
#undef cuLinkAddData

namespace {

/// There is nothing behind a handle.
template <class Handle>
CUresult give(Handle* handle) {
  static int nothing = 0;
  if (handle == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *handle = reinterpret_cast<Handle>(&nothing);
  return CUDA_SUCCESS;
}

template <class Number>
CUresult give_number(Number* place, Number value) {
  if (place == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *place = value;
  return CUDA_SUCCESS;
}

}  // namespace

extern "C" {

CUresult cuDriverGetVersion(int* version) { return give_number(version, CUDA_VERSION); }
CUresult cuDeviceGetCount(int* count) { return give_number(count, 1); }
CUresult cuDeviceGet(CUdevice* device, int ordinal) { return give_number(device, ordinal); }
CUresult cuGetErrorName(CUresult, const char** text) { return give_number(text, "an error"); }
CUresult cuGetErrorString(CUresult, const char** text) { return give_number(text, "an error"); }

CUresult cuCtxGetCurrent(CUcontext* context) { return give(context); }
CUresult cuCtxPushCurrent(CUcontext) { return CUDA_SUCCESS; }
CUresult cuCtxPopCurrent(CUcontext* context) { return give(context); }
CUresult cuCtxGetLimit(std::size_t* value, CUlimit) { return give_number<std::size_t>(value, 0); }
CUresult cuStreamGetCtx(CUstream, CUcontext* context) { return give(context); }

CUresult cuLibraryLoadData(CUlibrary* library, const void*, CUjit_option*, void**, unsigned,
                           CUlibraryOption*, void**, unsigned) {
  return give(library);
}
CUresult cuLibraryLoadFromFile(CUlibrary* library, const char*, CUjit_option*, void**, unsigned,
                               CUlibraryOption*, void**, unsigned) {
  return give(library);
}
CUresult cuLibraryGetKernel(CUkernel* kernel, CUlibrary, const char*) { return give(kernel); }
CUresult cuLibraryUnload(CUlibrary) { return CUDA_SUCCESS; }
CUresult cuKernelGetAttribute(int* value, CUfunction_attribute, CUkernel, CUdevice) {
  return give_number(value, 0);
}
CUresult cuKernelSetAttribute(CUfunction_attribute, int, CUkernel, CUdevice) {
  return CUDA_SUCCESS;
}
CUresult cuOccupancyMaxPotentialClusterSize(int* size, CUfunction, const CUlaunchConfig*) {
  return give_number(size, 1);
}

CUresult cuLinkCreate(unsigned, CUjit_option*, void**, CUlinkState* state) { return give(state); }
CUresult cuLinkAddData(CUlinkState, CUjitInputType, void*, std::size_t, const char*, unsigned,
                       CUjit_option*, void**) {
  return CUDA_SUCCESS;
}
CUresult cuLinkComplete(CUlinkState, void** cubin, std::size_t* bytes) {
  give_number<std::size_t>(bytes, 0);
  return give(cubin);
}
CUresult cuLinkDestroy(CUlinkState) { return CUDA_SUCCESS; }

CUresult cuLaunchKernel(CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                        unsigned, CUstream, void**, void**) {
  return CUDA_ERROR_NOT_SUPPORTED;
}
CUresult cuLaunchKernelEx(const CUlaunchConfig*, CUfunction, void**, void**) {
  return CUDA_ERROR_NOT_SUPPORTED;
}
CUresult cuLaunchCooperativeKernel(CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned,
                                   unsigned, unsigned, CUstream, void**) {
  return CUDA_ERROR_NOT_SUPPORTED;
}

}  // extern "C"
