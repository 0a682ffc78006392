#include "emulated_gpu/region.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <map>
#include <mutex>
#include <thread>
#include <vector>

namespace emulated_gpu {

std::byte* region_begin = nullptr;
std::byte* region_end = nullptr;

namespace {

constexpr std::size_t kRegion = std::size_t{1} << 38U;
constexpr std::size_t kPattern = std::size_t{16} << 20U;
constexpr int kGarbage = 0xCD;

using Clock = std::chrono::steady_clock;

struct Region {
  std::mutex mutex;
  std::map<std::byte*, std::size_t> blocks;  ///< bytes by the first
  std::byte* cursor = nullptr;               ///< addresses are used again as late as can be
  int accesses = 0;
  bool open = false;
  Clock::duration cost{};      ///< of opening and closing
  Clock::time_point closed{};  ///< last
};

/// Threads of streams need it until the process ends.
Region& region() {
  static auto* const instance = new Region();
  return *instance;
}

void check(bool good, const char* what) {
  if (good) return;
  std::perror(what);
  std::abort();
}

void reserve(Region& held) {
  void* const memory =
      mmap(nullptr, kRegion, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  check(memory != MAP_FAILED, "emulated GPU: no addresses for memory of devices");
  region_begin = static_cast<std::byte*>(memory);
  region_end = region_begin + kRegion;
  held.cursor = region_begin + kPage;
}

/// The first address from `start` on with so many free bytes and a page behind them.
std::byte* find_gap(const Region& held, std::byte* start, std::size_t bytes) {
  auto next = held.blocks.upper_bound(start);
  if (next != held.blocks.begin()) {
    const auto previous = std::prev(next);
    start = std::max(start, previous->first + previous->second + kPage);
  }
  for (; next != held.blocks.end(); ++next) {
    if (next->first >= start && std::size_t(next->first - start) >= bytes + kPage) return start;
    start = next->first + next->second + kPage;
  }
  const bool fits = start < region_end && std::size_t(region_end - start) >= bytes + kPage;
  return fits ? start : nullptr;
}

/// A file of garbage: pages of it cost nothing until they are written.
int pattern_file() {
  static const int file = [] {
    const int created = memfd_create("emulated GPU garbage", MFD_CLOEXEC);
    const std::vector<unsigned char> garbage(kPattern, kGarbage);
    const ssize_t written = created < 0 ? -1 : write(created, garbage.data(), garbage.size());
    check(written == static_cast<ssize_t>(kPattern), "emulated GPU: no file of garbage");
    return created;
  }();
  return file;
}

void fill_with_garbage(std::byte* pages, std::size_t bytes) {
  constexpr int kFlags = MAP_PRIVATE | MAP_FIXED | MAP_NORESERVE;
  if (bytes < kPattern) {
    void* const mapped = mmap(pages, bytes, PROT_READ | PROT_WRITE, kFlags | MAP_ANONYMOUS, -1, 0);
    check(mapped == pages, "emulated GPU: no memory");
    std::memset(pages, kGarbage, bytes);
    return;
  }
  for (std::size_t at = 0; at < bytes; at += kPattern) {
    void* const mapped = mmap(pages + at, std::min(kPattern, bytes - at), PROT_READ | PROT_WRITE,
                              kFlags, pattern_file(), 0);
    check(mapped == pages + at, "emulated GPU: no memory");
  }
}

void protect(Region& held, bool open) {
  if (held.open == open) return;
  held.open = open;
  const Clock::time_point begin = Clock::now();
  for (const auto& [pages, bytes] : held.blocks) {
    const int rights = open ? PROT_READ | PROT_WRITE : PROT_NONE;
    check(mprotect(pages, bytes, rights) == 0, "emulated GPU: cannot protect memory");
  }
  const Clock::time_point end = Clock::now();
  held.cost = (open ? Clock::duration() : held.cost) + (end - begin);
  if (!open) held.closed = end;
}

/// Addresses for so many bytes, which are not mapped yet; nullptr where none are left.
std::byte* take_addresses(Region& held, std::size_t bytes) {
  if (region_begin == nullptr) reserve(held);
  watch_faults();
  std::byte* pages = find_gap(held, held.cursor, bytes);
  if (pages == nullptr) pages = find_gap(held, region_begin + kPage, bytes);
  if (pages != nullptr) held.cursor = pages + bytes + kPage;
  return pages;
}

void map_at(const Region& held, std::byte* pages, std::size_t bytes, int file) {
  const int rights = held.open ? PROT_READ | PROT_WRITE : PROT_NONE;
  void* const mapped = mmap(pages, bytes, rights, MAP_SHARED | MAP_FIXED, file, 0);
  check(mapped == pages, "emulated GPU: cannot map memory of a file");
}

}  // namespace

std::byte* map_pages(std::size_t bytes) {
  Region& held = region();
  const std::lock_guard lock(held.mutex);
  std::byte* const pages = take_addresses(held, bytes);
  if (pages == nullptr) return nullptr;
  fill_with_garbage(pages, bytes);
  if (!held.open) check(mprotect(pages, bytes, PROT_NONE) == 0, "emulated GPU: cannot protect");
  held.blocks[pages] = bytes;
  return pages;
}

void share_pages(std::byte* pages, int file) {
  Region& held = region();
  std::unique_lock lock(held.mutex);
  while (held.accesses > 0) {  // nobody may write meanwhile
    lock.unlock();
    std::this_thread::sleep_for(std::chrono::microseconds(50));
    lock.lock();
  }
  const std::size_t bytes = held.blocks.at(pages);
  check(mprotect(pages, bytes, PROT_READ) == 0, "emulated GPU: cannot read memory");
  for (std::size_t at = 0; at < bytes;) {
    const ssize_t written = pwrite(file, pages + at, bytes - at, static_cast<off_t>(at));
    check(written > 0, "emulated GPU: cannot copy memory to a file");
    at += static_cast<std::size_t>(written);
  }
  map_at(held, pages, bytes, file);
}

std::byte* map_file(int file, std::size_t bytes) {
  Region& held = region();
  const std::lock_guard lock(held.mutex);
  std::byte* const pages = take_addresses(held, bytes);
  if (pages == nullptr) return nullptr;
  map_at(held, pages, bytes, file);
  held.blocks[pages] = bytes;
  return pages;
}

void unmap_pages(std::byte* pages) {
  Region& held = region();
  const std::lock_guard lock(held.mutex);
  const auto found = held.blocks.find(pages);
  constexpr int kFlags = MAP_PRIVATE | MAP_FIXED | MAP_NORESERVE | MAP_ANONYMOUS;
  void* const mapped = mmap(pages, found->second, PROT_NONE, kFlags, -1, 0);
  check(mapped == pages, "emulated GPU: cannot free memory");
  held.blocks.erase(found);
}

Access::Access() {
  Region& held = region();
  const std::lock_guard lock(held.mutex);
  if (held.accesses++ == 0) protect(held, true);
}

Access::~Access() {
  Region& held = region();
  const std::lock_guard lock(held.mutex);
  --held.accesses;
}

void close_region() {
  Region& held = region();
  const std::lock_guard lock(held.mutex);
  // Much memory takes long to close: it is left open for most of the time then.
  const bool soon = Clock::now() - held.closed < 10 * held.cost;
  if (held.accesses == 0 && !soon) protect(held, false);
}

}  // namespace emulated_gpu
