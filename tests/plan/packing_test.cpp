#include "plan/packing.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <random>
#include <vector>

using namespace meshwork;

namespace {

std::vector<Buffer> some_buffers(unsigned seed) {
  std::mt19937 random(seed);
  std::vector<Buffer> buffers;
  for (int i = 0; i < 40; ++i) {
    const int first = static_cast<int>(random() % 30) - 1;
    buffers.push_back({.bytes = 64 * static_cast<std::int64_t>(random() % 20),
                       .first = first,
                       .last = first + static_cast<int>(random() % 8)});
  }
  return buffers;
}

bool meet(const Buffer& a, const Buffer& b) {
  return a.first <= b.last && b.first <= a.last && a.offset < b.offset + b.bytes &&
         b.offset < a.offset + a.bytes;
}

}  // namespace

TEST_CASE("buffers in use at once do not meet, and no instruction sees more than the most in use") {
  constexpr std::int64_t kBase = 128;
  for (unsigned seed = 0; seed < 50; ++seed) {
    CAPTURE(seed);
    std::vector<Buffer> buffers = some_buffers(seed);
    const std::int64_t end = pack(buffers, kBase);
    std::int64_t last = kBase;
    for (std::size_t i = 0; i < buffers.size(); ++i) {
      REQUIRE(buffers[i].offset >= kBase);
      last = std::max(last, buffers[i].offset + buffers[i].bytes);
      for (std::size_t j = 0; j < i; ++j) REQUIRE_FALSE(meet(buffers[i], buffers[j]));
    }
    CHECK(end == last);
    std::int64_t most = 0;
    for (int i = -1; i < 40; ++i) {
      std::int64_t now = 0;
      for (const Buffer& b : buffers) now += b.first <= i && i <= b.last ? b.bytes : 0;
      most = std::max(most, now);
    }
    CHECK(most_in_use(buffers) == most);
    CHECK(end >= kBase + most);
  }
}

TEST_CASE("another order is tried where the largest first leaves a hole") {
  // With the third and the first at 0, the fourth begins at 192 and the second behind its end.
  std::vector<Buffer> buffers{{.bytes = 192, .first = 0, .last = 1},
                              {.bytes = 64, .first = 2, .last = 3},
                              {.bytes = 256, .first = 3, .last = 3},
                              {.bytes = 192, .first = 1, .last = 2}};
  CHECK(most_in_use(buffers) == 384);
  CHECK(pack(buffers, 0) == 384);
  CHECK(pack({}, 64) == 64);
}
