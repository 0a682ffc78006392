#include "emulated_gpu/memory.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <map>
#include <mutex>
#include <vector>

#include "emulated_gpu/region.h"
#include "emulated_gpu/settings.h"

namespace emulated_gpu {
namespace {

constexpr std::size_t kAlignment = 256;
constexpr std::byte kGarbage{0xCD};

struct Allocation {
  std::size_t bytes = 0;
  int device = 0;
  std::byte* pages = nullptr;  ///< it ends where they end
  int file = -1;               ///< that holds the pages, where they are shared
  bool is_own = true;          ///< of this process
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

/// Tells of writes between the end of an allocation and the next multiple of its alignment.
void check_end(const Allocation& allocation, CUdeviceptr address) {
  const Access access;
  const auto* const first = reinterpret_cast<const std::byte*>(address);
  for (std::size_t i = allocation.bytes; i < padded(allocation.bytes); ++i) {
    if (first[i] == kGarbage) continue;
    std::fprintf(stderr, "emulated GPU: a kernel wrote %zu bytes behind an allocation of %zu\n",
                 i - allocation.bytes, allocation.bytes);
    std::abort();
  }
}

void release(Registry& held, std::map<CUdeviceptr, Allocation>::iterator place) {
  const Allocation allocation = place->second;
  if (allocation.is_own) {
    check_end(allocation, place->first);
    held.used[static_cast<std::size_t>(allocation.device)] -= padded(allocation.bytes);
  }
  held.allocations.erase(place);
  unmap_pages(allocation.pages);
  if (allocation.file >= 0) close(allocation.file);
}

}  // namespace

CUresult allocate_device(int device, std::size_t bytes, CUdeviceptr& address) {
  if (bytes == 0) return CUDA_ERROR_INVALID_VALUE;
  Registry& held = registry();
  const std::lock_guard lock(held.mutex);
  std::size_t& used = held.used[static_cast<std::size_t>(device)];
  if (bytes > settings().memory || padded(bytes) > settings().memory - used) {
    return CUDA_ERROR_OUT_OF_MEMORY;
  }
  const std::size_t whole = whole_pages(bytes);
  std::byte* const pages = map_pages(whole);
  if (pages == nullptr) return CUDA_ERROR_OUT_OF_MEMORY;
  used += padded(bytes);
  address = reinterpret_cast<CUdeviceptr>(pages + whole - padded(bytes));
  held.allocations[address] = {bytes, device, pages};
  return CUDA_SUCCESS;
}

CUresult adopt_device(int device, int file, std::size_t bytes, CUdeviceptr& address) {
  Registry& held = registry();
  const std::lock_guard lock(held.mutex);
  const std::size_t whole = whole_pages(bytes);
  std::byte* const pages = map_file(file, whole);
  if (pages == nullptr) return CUDA_ERROR_MAP_FAILED;
  address = reinterpret_cast<CUdeviceptr>(pages + whole - padded(bytes));
  held.allocations[address] = {bytes, device, pages, file, false};
  return CUDA_SUCCESS;
}

void release_adopted(CUdeviceptr address) {
  Registry& held = registry();
  const std::lock_guard lock(held.mutex);
  release(held, held.allocations.find(address));
}

int file_of(CUdeviceptr address, std::size_t& bytes) {
  Registry& held = registry();
  const std::lock_guard lock(held.mutex);
  const auto found = held.allocations.find(address);
  if (found == held.allocations.end() || !found->second.is_own) return -1;
  Allocation& allocation = found->second;
  bytes = allocation.bytes;
  if (allocation.file < 0) {
    const std::size_t whole = whole_pages(bytes);
    allocation.file = memfd_create("emulated GPU memory", MFD_CLOEXEC);
    if (allocation.file < 0 || ftruncate(allocation.file, static_cast<off_t>(whole)) != 0)
      std::abort();
    share_pages(allocation.pages, allocation.file);
  }
  return allocation.file;
}

CUresult free_device(CUdeviceptr address) {
  if (address == 0) return CUDA_SUCCESS;
  Registry& held = registry();
  const std::lock_guard lock(held.mutex);
  const auto found = held.allocations.find(address);
  if (found == held.allocations.end() || !found->second.is_own) return CUDA_ERROR_INVALID_VALUE;
  release(held, found);
  close_region();
  return CUDA_SUCCESS;
}

void free_all(int device) {
  Registry& held = registry();
  const std::lock_guard lock(held.mutex);
  for (auto next = held.allocations.begin(); next != held.allocations.end();) {
    const auto here = next++;
    if (here->second.device == device) release(held, here);
  }
  close_region();
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
