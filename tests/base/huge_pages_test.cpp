#include "base/huge_pages.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <limits>

using namespace meshwork;

TEST_CASE("zeroed pages are zero, aligned and writable to the last byte") {
  for (const std::size_t bytes : {std::size_t{0}, std::size_t{1}, std::size_t{4097}, kHugePage - 1,
                                  kHugePage, 3 * kHugePage + 5}) {
    CAPTURE(bytes);
    const auto memory = zeroed_pages(bytes);
    REQUIRE(memory != nullptr);
    const std::size_t alignment = bytes < kHugePage ? 4096 : kHugePage;
    CHECK(reinterpret_cast<std::uintptr_t>(memory.get()) % alignment == 0);
    CHECK(std::count(memory.get(), memory.get() + bytes, std::byte{0}) ==
          static_cast<std::ptrdiff_t>(bytes));
    std::fill_n(memory.get(), bytes, std::byte{7});
    CHECK(std::count(memory.get(), memory.get() + bytes, std::byte{7}) ==
          static_cast<std::ptrdiff_t>(bytes));
  }
}

TEST_CASE("pages that no system has are null") {
  CHECK(zeroed_pages(std::numeric_limits<std::size_t>::max() - 5) == nullptr);
  CHECK(zeroed_pages(std::size_t{1} << 60U) == nullptr);
}

TEST_CASE("memory that is put into huge pages is what it was, and so is what lies around it") {
  constexpr std::size_t kBytes = 3 * kHugePage + 5000;
  const std::shared_ptr<std::byte> memory = zeroed_pages(kBytes);
  REQUIRE(memory != nullptr);
  memory.get()[0] = std::byte{1};
  memory.get()[kBytes - 1] = std::byte{2};
  take_huge_pages(memory.get() + 64, kBytes - 128);
  take_huge_pages(memory.get(), 100);  // too few for any
  CHECK(memory.get()[0] == std::byte{1});
  CHECK(memory.get()[kBytes - 1] == std::byte{2});
  memory.get()[kHugePage] = std::byte{3};
  CHECK(memory.get()[kHugePage] == std::byte{3});
}
