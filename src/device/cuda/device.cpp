#include <algorithm>

#include "base/check.h"
#include "base/error.h"
#include "device/cuda/lost.h"
#include "device/cuda/pinned_memory.h"
#include "device/cuda/stream.h"
#include "device/cuda_device.h"
#include "machine/launch.h"

namespace meshwork {
namespace {

using cuda::check;
using cuda::driver;
using cuda::Gpu;

struct Memory {
  std::int64_t available = 0, all = 0;
};

Memory memory_of(const Gpu& gpu) {
  gpu.make_current();
  std::size_t available = 0, all = 0;
  check(driver().cuMemGetInfo(&available, &all), "asking for free memory");
  return {static_cast<std::int64_t>(available), static_cast<std::int64_t>(all)};
}

class CudaDevice final : public Device {
 public:
  CudaDevice(Gpu& gpu, Target target)
      : gpu_(gpu), target_(std::move(target)), stream_(gpu), pinned_(gpu) {
    target_.tensor_float32 = target_.tensor_float32 && gpu.has_tensor_float32();
  }

  const Target& target() const override { return target_; }

  std::shared_ptr<std::byte> allocate(std::int64_t bytes, const HostMemory& /*host*/) override {
    MW_CHECK(bytes >= 0, "{} bytes", bytes);
    gpu_.make_current();
    CUdeviceptr place = 0;
    const auto size = static_cast<std::size_t>(std::max<std::int64_t>(bytes, 1));
    const CUresult result = driver().cuMemAlloc(&place, size);
    if (result == CUDA_ERROR_OUT_OF_MEMORY) fail_short_of_memory(bytes);
    check(result, fmt::format("allocating {} bytes", bytes));
    std::shared_ptr<std::byte> memory(reinterpret_cast<std::byte*>(place),
                                      [&gpu = gpu_](std::byte* begin) { free(gpu, begin); });
    stream_.fill_zero(memory.get(), bytes);
    check(driver().cuStreamSynchronize(stream_.handle()), "clearing memory of the GPU");
    return memory;
  }

  std::shared_ptr<std::byte> allocate_staging(std::int64_t bytes) override {
    return pinned_.allocate(bytes);
  }

  std::unique_ptr<Stream> make_stream() override {
    return std::make_unique<cuda::CudaStream>(gpu_);
  }
  std::unique_ptr<Event> make_event() override { return std::make_unique<cuda::CudaEvent>(gpu_); }

  const Gpu& gpu() const { return gpu_; }

 private:
  [[noreturn]] void fail_short_of_memory(std::int64_t bytes) const {
    const auto [available, all] = memory_of(gpu_);
    fail(ExitCode::kTraining,
         "device memory: {} bytes are needed and {} of {} are free on GPU {} ({}); use a smaller "
         "batch, or shard over more devices",
         bytes, available, all, gpu_.number(), gpu_.name());
  }

  static void free(const Gpu& gpu, std::byte* begin) noexcept {
    if (cuda::is_one_lost()) return;
    try {
      gpu.make_current();
      static_cast<void>(driver().cuMemFree(reinterpret_cast<CUdeviceptr>(begin)));
    } catch (...) {
      // Of a GPU that is lost nothing can be given back.
    }
  }

  Gpu& gpu_;
  Target target_;
  cuda::CudaStream stream_;  ///< that clears memory
  cuda::PinnedMemory pinned_;
};

}  // namespace

int gpu_count() { return Gpu::count(); }

int gpu_of_device(int device) {
  const JobLaunch launch = launch_from_environment();
  return (launch.by_mpirun ? launch.local_rank : device) % gpu_count();
}

void check_gpus() {
  const int count = Gpu::count();
  for (int number = 0; number < std::max(count, 1); ++number) {
    try {
      return Gpu::check_usable(number);
    } catch (const Error&) {
      if (number + 1 >= count) throw;
    }
  }
}

namespace {

GpuInfo describe(Gpu& gpu) {
  return {.name = gpu.name(),
          .capability = gpu.capability(),
          .memory = gpu.memory(),
          .free_memory = memory_of(gpu).available,
          .multiprocessors = gpu.multiprocessors(),
          .flops = gpu.flops(),
          .has_tensor_float32 = gpu.has_tensor_float32(),
          .reaches = {},
          .is_shared_by_processes = gpu.is_shared_by_processes(),
          .problem = ""};
}

}  // namespace

std::vector<GpuInfo> gpus() {
  check_gpus();
  std::vector<GpuInfo> list;
  for (int number = 0; number < Gpu::count(); ++number) {
    try {
      list.push_back(describe(Gpu::open(number)));
    } catch (const Error& error) {
      list.emplace_back().problem = error.what();
    }
  }
  for (int from = 0; from < Gpu::count(); ++from) {
    for (int to = 0; to < Gpu::count(); ++to) {
      GpuInfo& info = list[static_cast<std::size_t>(from)];
      const bool opens = info.problem.empty() && list[static_cast<std::size_t>(to)].problem.empty();
      info.reaches.push_back(opens && Gpu::open(from).reach(Gpu::open(to)));
    }
  }
  return list;
}

std::string gpu_name(int gpu) { return Gpu::open(gpu).name(); }

std::unique_ptr<Device> make_cuda_device(int gpu, Target target) {
  return std::make_unique<CudaDevice>(Gpu::open(gpu), std::move(target));
}

std::optional<GpuMemory> gpu_memory(const Device& device) {
  const auto* const mine = dynamic_cast<const CudaDevice*>(&device);
  if (mine == nullptr) return std::nullopt;
  const Gpu& gpu = mine->gpu();
  const auto [available, all] = memory_of(gpu);
  return GpuMemory{gpu.id(), gpu.number(), all, available};
}

}  // namespace meshwork
