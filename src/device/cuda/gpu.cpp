#include "device/cuda/gpu.h"

#include <array>
#include <atomic>
#include <cstring>
#include <memory>
#include <optional>
#include <utility>

#include "base/error.h"
#include "device/cuda/compiler.h"
#include "device/cuda/lost.h"

namespace meshwork::cuda {

/// A source, and the kernels of it that were asked for.
struct Module {
  std::optional<Compilation> compilation;  ///< until it is loaded
  CUmodule loaded = nullptr;
  std::map<std::string, std::shared_ptr<Kernel>> kernels;
};

struct Kernel {
  Kernel(Module& of, std::string its_name) : module(of), name(std::move(its_name)) {}

  Module& module;
  std::string name;
  std::atomic<CUfunction> loaded{nullptr};
};

namespace {

/// The oldest that CUDA 13 compiles for: Turing.
constexpr int kOldestCapability = 75;

GpuId id_of(CUdevice device) {
  CUuuid uuid{};
  check(driver().cuDeviceGetUuid(&uuid, device), "reading the GPU's number");
  GpuId id{};
  static_assert(sizeof id == sizeof uuid.bytes);
  std::memcpy(id.data(), uuid.bytes, sizeof id);
  return id;
}

}  // namespace

int Gpu::count() {
  int count = 0;
  check(driver().cuDeviceGetCount(&count), "counting GPUs");
  return count;
}

Gpu& Gpu::open(int number) {
  static std::mutex mutex;
  static std::map<int, std::unique_ptr<Gpu>> opened;
  const std::lock_guard lock(mutex);
  std::unique_ptr<Gpu>& gpu = opened[number];
  if (gpu == nullptr) {
    std::unique_ptr<Gpu> mine(new Gpu(number));
    mine->open_context();
    gpu = std::move(mine);
    note_opened();
  }
  return *gpu;
}

Gpu::Gpu(int number) : number_(number) {
  if (number < 0 || number >= count()) {
    fail("device cuda: there is no GPU {}; this machine shows {}", number, count());
  }
  check_compiler();
  check(driver().cuDeviceGet(&device_, number), "opening the GPU");
  std::array<char, 256> name{};
  check(driver().cuDeviceGetName(name.data(), name.size(), device_), "reading the GPU's name");
  name_ = name.data();
  capability_ = 10 * attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR) +
                attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
  if (capability_ < kOldestCapability) {
    fail(
        "device cuda: GPU {} ({}) has compute capability {}.{}, {}.{} is needed; take another GPU "
        "with CUDA_VISIBLE_DEVICES, or say device: cpu",
        number, name_, capability_ / 10, capability_ % 10, kOldestCapability / 10,
        kOldestCapability % 10);
  }
  architecture_ = architecture_for(capability_);
  if (architecture_ == 0) {
    fail(
        "device cuda: GPU {} ({}) has compute capability {}.{}, which NVRTC {} does not know; "
        "install a newer NVRTC of CUDA 13, take another GPU with CUDA_VISIBLE_DEVICES, or say "
        "device: cpu",
        number, name_, capability_ / 10, capability_ % 10, compiler_version());
  }
  std::size_t bytes = 0;
  check(driver().cuDeviceTotalMem(&bytes, device_), "reading the GPU's memory");
  memory_ = static_cast<std::int64_t>(bytes);
  multiprocessors_ = attribute(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
}

void Gpu::open_context() {
  check(driver().cuDevicePrimaryCtxRetain(&context_, device_), "opening the GPU's context");
}

int Gpu::attribute(CUdevice_attribute attribute) const {
  int value = 0;
  check(driver().cuDeviceGetAttribute(&value, attribute, device_), "asking the GPU");
  return value;
}

double Gpu::flops() const {
  // Units per multiprocessor: 64 up to compute capability 8.0, 128 from 8.6 on.
  const double units = capability_ <= 80 ? 64 : 128;
  const double kilohertz = attribute(CU_DEVICE_ATTRIBUTE_CLOCK_RATE);
  return 2 * units * multiprocessors_ * kilohertz * 1e3;
}

void Gpu::make_current() const {
  thread_local const Gpu* current = nullptr;
  if (current == this) return;
  check(driver().cuCtxSetCurrent(context_), "turning to the GPU");
  current = this;
}

Function Gpu::function(const Source& source, const std::string& kernel) {
  const std::lock_guard lock(mutex_);
  std::shared_ptr<Module>& module = modules_[source.defines + source.text];
  if (module == nullptr) {
    module = std::make_shared<Module>();
    module->compilation.emplace(source, architecture_);
  }
  std::shared_ptr<Kernel>& found = module->kernels[kernel];
  if (found == nullptr) {
    found = std::make_shared<Kernel>(*module, kernel);
    asked_for_.push_back(found);
  }
  return {*this, found};
}

void Gpu::load_all() {
  make_current();
  const std::lock_guard lock(mutex_);
  while (!asked_for_.empty()) {
    const std::shared_ptr<Kernel> kernel = asked_for_.back();
    asked_for_.pop_back();
    load(*kernel);
  }
}

CUfunction Gpu::load(Kernel& kernel) {
  if (const CUfunction loaded = kernel.loaded; loaded != nullptr) return loaded;
  Module& module = kernel.module;
  if (module.loaded == nullptr) {
    module.loaded = module.compilation->load();
    module.compilation.reset();
  }
  CUfunction function = nullptr;
  check(driver().cuModuleGetFunction(&function, module.loaded, kernel.name.c_str()),
        fmt::format("finding kernel '{}'", kernel.name));
  kernel.loaded = function;
  return function;
}

CUfunction Function::handle() const {
  if (const CUfunction loaded = kernel_->loaded; loaded != nullptr) return loaded;
  gpu_->make_current();
  const std::lock_guard lock(gpu_->mutex_);
  return gpu_->load(*kernel_);
}

bool Gpu::reach(const Gpu& other) {
  if (&other == this) return true;
  make_current();
  const std::lock_guard lock(mutex_);
  const auto known = reached_.find(other.number_);
  if (known != reached_.end()) return known->second;
  int can = 0;
  check(driver().cuDeviceCanAccessPeer(&can, device_, other.device_), "asking for a link");
  if (can != 0) {
    const CUresult result = driver().cuCtxEnablePeerAccess(other.context_, 0);
    can = static_cast<int>(result == CUDA_SUCCESS ||
                           result == CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED);
  }
  return reached_[other.number_] = can != 0;
}

GpuId Gpu::id() const { return id_of(device_); }

bool Gpu::is_shared_by_processes() const {
  return attribute(CU_DEVICE_ATTRIBUTE_IPC_EVENT_SUPPORTED) != 0;
}

bool Gpu::has_link_to(const GpuId& other) const {
  for (int number = 0; number < count(); ++number) {
    CUdevice device = 0;
    check(driver().cuDeviceGet(&device, number), "looking for a GPU");
    if (id_of(device) != other) continue;
    int can = 0;
    if (device == device_) return true;
    check(driver().cuDeviceCanAccessPeer(&can, device_, device), "asking for a link");
    return can != 0;
  }
  return true;  // who opens its memory will see: it is hidden from this process
}

}  // namespace meshwork::cuda
