// Patches of convolutions fit into a block, whatever the convolution is.
#include <doctest/doctest.h>

#include "backend/cuda/windows/patches/extents.h"
#include "backend/cuda/windows/patches/patch.h"
#include "base/rng.h"

using namespace meshwork;
using namespace meshwork::cuda::windows;

namespace {

constexpr std::int64_t kMostThreads = 512;

/// Whole numbers of a case, each of its own.
class Draws {
 public:
  explicit Draws(std::uint64_t seed) : seed_(seed) {}
  std::int64_t from(std::int64_t low, std::int64_t high) {
    const auto span = static_cast<double>(high - low + 1);
    return low + static_cast<std::int64_t>(span * uniform_at(seed_, 0, number_++));
  }
  /// More often small than large.
  std::int64_t up_to(std::int64_t high) { return from(1, from(1, high)); }

 private:
  std::uint64_t seed_, number_ = 0;
};

Slide slide_of(Draws& draws, std::int64_t longest) {
  Slide slide;
  slide.window = static_cast<std::int32_t>(draws.from(1, 8));
  slide.stride = static_cast<std::int32_t>(draws.from(1, 2));
  slide.y = static_cast<std::int32_t>(draws.up_to(longest));
  slide.padding = static_cast<std::int32_t>(draws.from(0, slide.window - 1));
  const std::int64_t reached = (slide.y - 1) * slide.stride + slide.window - slide.padding;
  slide.x = static_cast<std::int32_t>(std::max<std::int64_t>(reached, 1));
  return slide;
}

Convolution convolution_of(std::uint64_t seed) {
  Draws draws(seed);
  Convolution c;
  c.slides[1] = slide_of(draws, 120);
  c.slides[2] = slide_of(draws, 300);
  c.images = draws.up_to(600);
  c.in = draws.up_to(300);
  c.out = draws.up_to(300);
  return c;
}

}  // namespace

TEST_CASE("patches of results fit into a block") {
  for (std::uint64_t seed = 0; seed < 4000; ++seed) {
    CAPTURE(seed);
    Sliding s;
    s.c = convolution_of(seed);
    s.backward = seed % 2 == 1;
    const Phases phases = phases_of(s);
    for (const std::int64_t pack : {1, 2, 4}) {
      if (s.inner() % pack != 0) continue;
      const Patch p = patch_of(s, pack);
      REQUIRE(p.memory() <= kPatchFloats);
      REQUIRE(p.threads() >= 1);
      REQUIRE(p.threads() <= kMostThreads);
      REQUIRE(p.images <= kMostImages);
      REQUIRE(p.depth % pack == 0);
      REQUIRE(p.pitch() % p.pack() == 0);
      REQUIRE(p.blocks(s) * p.images * p.rows * p.width() * p.channels() >=
              phases.number * s.c.images * phases.pixels() * s.outer());
    }
  }
}

TEST_CASE("patches of gradients of kernels fit into a block, and all of them are some part's") {
  for (std::uint64_t seed = 0; seed < 4000; ++seed) {
    CAPTURE(seed);
    const Convolution c = convolution_of(seed);
    const FilterPatch p = filter_patch_of(c);
    REQUIRE(p.memory() <= kPatchFloats);
    REQUIRE(p.threads() >= 1);
    REQUIRE(p.threads() <= kMostThreads);
    REQUIRE(p.images <= kMostImages);
    REQUIRE(p.patches(c) * p.images * p.rows * p.width() >= c.images * y_pixels(c.slides));
    REQUIRE(p.blocks(c) * p.channels() * p.filters() >= c.in * c.out);
    REQUIRE(p.parts(c) >= 1);
    REQUIRE(p.parts(c) <= p.patches(c));
  }
}
