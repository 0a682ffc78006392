#pragma once

#include <cuda.h>

#include <cstddef>

namespace emulated_gpu {

/// Memory of devices, which the host must not touch. Each allocation starts at a multiple of 256
/// bytes, is filled with 0xCD, and has no others near it. CUDA_ERROR_OUT_OF_MEMORY beyond what the
/// device has.
CUresult allocate_device(int device, std::size_t bytes, CUdeviceptr& address);
CUresult free_device(CUdeviceptr address);
/// All that is left of a device's.
void free_all(int device);
std::size_t free_bytes(int device);

/// Memory that `file` of another process holds, on `device`: as an allocation that is not counted.
CUresult adopt_device(int device, int file, std::size_t bytes, CUdeviceptr& address);
void release_adopted(CUdeviceptr address);
/// Puts all of an allocation into a file, which others may open; -1 where none starts there. The
/// same file each time.
int file_of(CUdeviceptr address, std::size_t& bytes);

/// Whether the bytes lie within one allocation of some device.
bool is_device_memory(CUdeviceptr address, std::size_t bytes);

/// Page-locked memory of the host.
CUresult allocate_host(std::size_t bytes, void*& address);
CUresult free_host(void* address);
bool is_locked(const void* address);

}  // namespace emulated_gpu
