#include "base/huge_pages.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>

namespace meshwork {
namespace {

constexpr std::size_t kFewBytes = std::size_t{64} << 10U;

std::size_t page_size() { return static_cast<std::size_t>(sysconf(_SC_PAGESIZE)); }

/// Pages of the heap, which need no call of the system, or no new ones.
std::shared_ptr<std::byte> zeroed_few(std::size_t bytes) {
  const std::size_t page = page_size();
  const std::size_t whole = std::max<std::size_t>(1, (bytes + page - 1) / page) * page;
  void* memory = std::aligned_alloc(page, whole);
  if (memory == nullptr) return nullptr;
  std::memset(memory, 0, whole);
  return {static_cast<std::byte*>(memory), std::free};
}

}  // namespace

std::size_t bytes_to_huge_page(const void* address) {
  return (kHugePage - reinterpret_cast<std::uintptr_t>(address) % kHugePage) % kHugePage;
}

void prefer_huge_pages(void* begin, std::size_t bytes) {
  const std::size_t page = page_size();
  const auto address = reinterpret_cast<std::uintptr_t>(begin);
  const std::size_t skip = (page - address % page) % page;
  if (bytes < kHugePage + skip) return;
  // Only advice: a system that knows no huge pages goes on with small ones.
  madvise(static_cast<std::byte*>(begin) + skip, (bytes - skip) / page * page, MADV_HUGEPAGE);
}

void take_huge_pages(void* begin, std::size_t bytes) {
  constexpr int kCollapse = 25;  // MADV_COLLAPSE since Linux 6.1: older systems refuse it
  const std::size_t skip = bytes_to_huge_page(begin);
  if (bytes < kHugePage + skip) return;
  const std::size_t whole = (bytes - skip) / kHugePage * kHugePage;
  std::byte* first = static_cast<std::byte*>(begin) + skip;
  // Something must be there of each: the system fills the rest.
  for (std::size_t i = 0; i < whole; i += kHugePage) {
    *reinterpret_cast<volatile std::byte*>(first + i) = std::byte{0};
  }
  madvise(first, whole, kCollapse);
}

std::shared_ptr<std::byte> zeroed_pages(std::size_t bytes) {
  if (bytes <= kFewBytes) return zeroed_few(bytes);
  const std::size_t slack = bytes < kHugePage ? 0 : kHugePage;  // to begin with a huge page
  const std::size_t mapped = std::max<std::size_t>(bytes, 1) + slack;
  if (mapped < bytes) return nullptr;
  void* memory = mmap(nullptr, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return nullptr;
  const std::size_t skip = slack == 0 ? 0 : bytes_to_huge_page(memory);
  std::byte* begin = static_cast<std::byte*>(memory) + skip;
  prefer_huge_pages(begin, bytes);
  return {begin, [memory, mapped](std::byte*) { munmap(memory, mapped); }};
}

}  // namespace meshwork
