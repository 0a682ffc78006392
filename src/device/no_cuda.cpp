#include "base/error.h"
#include "device/cuda_device.h"

namespace meshwork {
namespace {

[[noreturn]] void fail_without_cuda() {
  fail(
      "device cuda: this meshwork was built without CUDA; build it where CUDA 13's headers are "
      "(meson setup -Dcuda=enabled), or say device: cpu");
}

}  // namespace

int gpu_count() { fail_without_cuda(); }

void check_gpus() { fail_without_cuda(); }

int gpu_of_device(int /*device*/) { fail_without_cuda(); }

std::vector<GpuInfo> gpus() { fail_without_cuda(); }

std::string gpu_name(int /*gpu*/) { fail_without_cuda(); }

std::unique_ptr<Device> make_cuda_device(int /*gpu*/, Target /*target*/) { fail_without_cuda(); }

std::optional<GpuMemory> gpu_memory(const Device& /*device*/) { return std::nullopt; }

}  // namespace meshwork
