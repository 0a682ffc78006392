#include "backend/cuda/kernel.h"
#include "backend/cuda/windows/patches/extents.h"
#include "backend/cuda/windows/patches/patch.h"

namespace meshwork::cuda::windows {
namespace {

/// Channels and filters from which on threads have twice as many sums.
constexpr std::int64_t kWide = 64;
/// Rows of a patch at most, and rows of all its images that are enough.
constexpr std::int64_t kMostRows = 8, kManyRows = 16;

/// The sums of a thread, and the threads that have others.
void take_sums(FilterPatch& p, const Convolution& c) {
  p.in = p.taps[1] <= 4 ? 4 : 2;
  while (c.in < 8 && c.in % p.in != 0) p.in /= 2;
  const bool is_wide =
      c.in >= kWide && c.out >= kWide && p.taps[1] <= 3 && c.slides[2].y > pixels_of(c.slides[2].y);
  p.out = is_wide ? 8 : 4;
  const std::int64_t groups = kPatchThreads / p.taps[0];
  const auto at_most_8 = [](std::int64_t x) { return std::min<std::int64_t>(x, 8); };
  p.out_groups = even_piece(tiles_over(c.out, p.out), at_most_8(groups));
  p.in_groups = even_piece(tiles_over(c.in, p.in), at_most_8(groups / p.out_groups));
}

/// As much of y as there is place for, with what it reads.
void take_positions(FilterPatch& p, const Convolution& c) {
  const std::int64_t height = c.slides[1].y, width = c.slides[2].y;
  p.pixels = pixels_of(width);
  const std::int64_t segments = tiles_over(width, p.pixels);
  p.segments = even_piece(segments, p.out == 8 ? 2 : 4);
  p.rows = even_piece(height, kMostRows);
  const auto fits = [&] { return p.memory() <= kPatchFloats; };
  while (!fits() && p.rows > 1) p.rows = even_piece(height, p.rows - 1);
  while (!fits() && p.segments > 1) p.segments = even_piece(segments, p.segments - 1);
  while (!fits() && p.in_groups > 1) {
    p.in_groups = even_piece(tiles_over(c.in, p.in), p.in_groups - 1);
  }
  while (!fits() && p.out_groups > 1) {
    p.out_groups = even_piece(tiles_over(c.out, p.out), p.out_groups - 1);
  }
  if (p.rows < height) return;
  while (p.images < c.images && p.images * p.rows < kManyRows) {
    ++p.images;
    if (fits() && p.patches(c) * p.blocks(c) >= 2 * kMultiprocessors) continue;
    --p.images;
    return;
  }
}

/// Threads for rows that go evenly into them, nearly.
void take_splits(FilterPatch& p) {
  const std::int64_t lines = p.images * p.rows;
  const std::int64_t most = std::min(kPatchThreads / p.threads(), lines);
  for (p.splits = std::max<std::int64_t>(most, 1); p.splits > 1; --p.splits) {
    if (8 * rounded_up(lines, p.splits) <= 10 * lines && p.memory() <= kPatchFloats) return;
  }
}

}  // namespace

std::int64_t FilterPatch::memory() const {
  const std::int64_t x = reach(rows, steps[0], taps[0]) * reach(width(), steps[1], taps[1]);
  const std::int64_t operands =
      rounded_up(images * x * channels(), 4) + images * rows * width() * filters();
  return splits == 1 ? operands : std::max(operands, threads() / splits * sums());
}

std::int64_t FilterPatch::patches(const Convolution& c) const {
  return tiles_over(c.images, images) * tiles_over(c.slides[1].y, rows) *
         tiles_over(c.slides[2].y, width());
}

std::int64_t FilterPatch::blocks(const Convolution& c) const {
  return tiles_over(c.in, channels()) * tiles_over(c.out, filters());
}

std::int64_t FilterPatch::parts(const Convolution& c) const {
  const std::int64_t slots = kMultiprocessors * resident_blocks(threads(), sums());
  const std::int64_t part = tiles_over(patches(c) * blocks(c), slots);
  return tiles_over(patches(c), part);
}

std::string FilterPatch::defines(const Convolution& c) const {
  return define("PX", pixels) + define("SEGMENTS", segments) + define("ROWS", rows) +
         define("IMAGES", images) + define("RC", in) + define("RO", out) +
         define("IN_GROUPS", in_groups) + define("OUT_GROUPS", out_groups) +
         define("SPLITS", splits) + define("TAPS_Y", taps[0]) + define("TAPS_X", taps[1]) +
         define("STEP_Y", steps[0]) + define("STEP_X", steps[1]) +
         define("WHOLE_IN", std::int64_t{c.in % channels() == 0}) +
         define("WHOLE_OUT", std::int64_t{c.out % filters() == 0}) + define("MEMORY", memory()) +
         define("BLOCKS", resident_blocks(threads(), sums()));
}

FilterPatch filter_patch_of(const Convolution& c) {
  const auto& [front, height, width] = c.slides;
  FilterPatch p;
  p.taps = {height.window, width.window};
  p.steps = {height.stride, width.stride};
  take_sums(p, c);
  take_positions(p, c);
  take_splits(p);
  return p;
}

}  // namespace meshwork::cuda::windows
