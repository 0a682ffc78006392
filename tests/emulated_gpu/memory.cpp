#include "emulated_gpu/memory.h"

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <map>
#include <mutex>
#include <vector>

#include "emulated_gpu/settings.h"

namespace emulated_gpu {
namespace {

constexpr std::size_t kAlignment = 512;

struct Allocation {
  std::size_t bytes = 0;
  int device = 0;
};

struct Registry {
  std::mutex mutex;
  std::map<CUdeviceptr, Allocation> allocations;
  std::map<std::uintptr_t, std::size_t> locked;  ///< of the host
  std::vector<std::size_t> used = std::vector<std::size_t>(std::size_t(settings().gpus));
};

/// Work that is still under way when the process ends needs it.
Registry& registry() {
  static auto* const instance = new Registry();
  return *instance;
}

std::size_t padded(std::size_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

}  // namespace

CUresult allocate_device(int device, std::size_t bytes, CUdeviceptr& address) {
  if (bytes == 0) return CUDA_ERROR_INVALID_VALUE;
  Registry& held = registry();
  const std::lock_guard lock(held.mutex);
  std::size_t& used = held.used[static_cast<std::size_t>(device)];
  if (bytes > settings().memory || padded(bytes) > settings().memory - used) {
    return CUDA_ERROR_OUT_OF_MEMORY;
  }
  void* const memory = std::aligned_alloc(kAlignment, padded(bytes));
  if (memory == nullptr) return CUDA_ERROR_OUT_OF_MEMORY;
  std::memset(memory, 0xCD, padded(bytes));
  used += padded(bytes);
  address = reinterpret_cast<CUdeviceptr>(memory);
  held.allocations[address] = {bytes, device};
  return CUDA_SUCCESS;
}

CUresult free_device(CUdeviceptr address) {
  if (address == 0) return CUDA_SUCCESS;
  Registry& held = registry();
  const std::lock_guard lock(held.mutex);
  const auto found = held.allocations.find(address);
  if (found == held.allocations.end()) return CUDA_ERROR_INVALID_VALUE;
  held.used[static_cast<std::size_t>(found->second.device)] -= padded(found->second.bytes);
  held.allocations.erase(found);
  std::free(reinterpret_cast<void*>(address));
  return CUDA_SUCCESS;
}

std::size_t free_bytes(int device) {
  Registry& held = registry();
  const std::lock_guard lock(held.mutex);
  return settings().memory - held.used[static_cast<std::size_t>(device)];
}

bool is_device_memory(CUdeviceptr address, std::size_t bytes) {
  Registry& held = registry();
  const std::lock_guard lock(held.mutex);
  auto found = held.allocations.upper_bound(address);
  if (found == held.allocations.begin()) return false;
  --found;
  const std::size_t offset = address - found->first;
  return offset <= found->second.bytes && bytes <= found->second.bytes - offset;
}

CUresult allocate_host(std::size_t bytes, void*& address) {
  if (bytes == 0) return CUDA_ERROR_INVALID_VALUE;
  address = std::aligned_alloc(4096, (bytes + 4095) / 4096 * 4096);
  if (address == nullptr) return CUDA_ERROR_OUT_OF_MEMORY;
  std::memset(address, 0xCD, bytes);
  Registry& held = registry();
  const std::lock_guard lock(held.mutex);
  held.locked[reinterpret_cast<std::uintptr_t>(address)] = bytes;
  return CUDA_SUCCESS;
}

CUresult free_host(void* address) {
  Registry& held = registry();
  const std::lock_guard lock(held.mutex);
  if (held.locked.erase(reinterpret_cast<std::uintptr_t>(address)) == 0) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  std::free(address);
  return CUDA_SUCCESS;
}

bool is_locked(const void* address) {
  const auto number = reinterpret_cast<std::uintptr_t>(address);
  Registry& held = registry();
  const std::lock_guard lock(held.mutex);
  auto found = held.locked.upper_bound(number);
  if (found == held.locked.begin()) return false;
  --found;
  return number - found->first < found->second;
}

}  // namespace emulated_gpu
