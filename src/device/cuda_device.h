#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "device/device.h"

namespace meshwork {

/// A GPU of this machine.
struct GpuInfo {
  std::string name;
  int capability = 0;                        ///< 90: compute capability 9.0
  std::int64_t memory = 0, free_memory = 0;  ///< bytes
  int multiprocessors = 0;
  double flops = 0;  ///< float32 multiplications and additions per second, at most
  bool has_tensor_float32 = false;
  std::vector<bool> reaches;            ///< whose memory its kernels read, by number
  bool is_shared_by_processes = false;  ///< who may read each other's memory then
  std::string problem;                  ///< why it cannot be used, and nothing else is known; or ""
};

/// The memory of the GPU of a device.
struct GpuMemory {
  std::array<std::int64_t, 2> gpu{};  ///< the same for all devices on it, in every process
  int number = 0;
  std::int64_t bytes = 0, available = 0;
};

/// The GPUs of this machine that CUDA_VISIBLE_DEVICES leaves; a configuration Error, of one line,
/// where there are none, or what they need is missing.
std::vector<GpuInfo> gpus();
/// Throws such an Error where none of them can be used; opens none.
void check_gpus();
/// How many there are, without opening them.
int gpu_count();

/// Devices of a machine take its GPUs in turn: ranks by their number on it, else devices by theirs.
int gpu_of_device(int device);

/// Of number `gpu` of them, which alone is opened.
std::string gpu_name(int gpu);

/// Number `gpu` of them as a device; several devices may share one.
std::unique_ptr<Device> make_cuda_device(int gpu, Target target);

/// What it has now; nothing of a device that is no GPU.
std::optional<GpuMemory> gpu_memory(const Device& device);

}  // namespace meshwork
