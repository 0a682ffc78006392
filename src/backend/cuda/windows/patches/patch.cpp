#include "backend/cuda/windows/patches/patch.h"

#include "backend/cuda/kernel.h"
#include "backend/cuda/windows/patches/extents.h"

namespace meshwork::cuda::windows {
namespace {

/// Nearly two blocks for each multiprocessor; warps on all of them that hide how long shared memory
/// takes to answer.
constexpr std::int64_t kManyBlocks = 250, kManyWarps = 8 * kMultiprocessors;
/// Threads of the largest block, and of one whose threads have the most sums.
constexpr std::int64_t kMostThreads = 512, kWideThreads = 128;
/// Multiplications that are written out without a loop.
constexpr std::int64_t kUnrolled = 1100;
/// Channels that are brought at a time, at most.
constexpr std::int64_t kDeepest = 16;

/// What a patch is cut from.
struct Extents {
  std::int64_t phases, images, height, segments, groups;
};

Extents extents_of(const Sliding& s, const Patch& p) {
  const Phases phases = phases_of(s);
  return {phases.number, s.c.images, phases.extents[1], tiles_over(phases.extents[2], p.pixels),
          tiles_over(s.outer(), p.columns)};
}

std::int64_t blocks_of(const Patch& p, const Extents& e) {
  return e.phases * tiles_over(e.images, p.images) * tiles_over(e.height, p.rows) *
         tiles_over(e.segments, p.segments) * tiles_over(e.groups, p.column_groups);
}

/// Four warps, as many for each scheduler, where they go evenly into the image.
bool take_even_warps(Patch& p, const Extents& e) {
  const std::int64_t places = kWideThreads / p.column_groups;
  std::int64_t rows = 8;
  while (e.height % rows != 0) rows /= 2;
  if (places % rows != 0 || e.segments % (places / rows) != 0) return false;
  p.rows = rows;
  p.segments = places / rows;
  return true;
}

/// Smaller patches where large ones would leave most of a GPU idle, several images where one is
/// small, and then threads that share sums.
void take_rows(Patch& p, const Extents& e, std::int64_t terms) {
  const auto threads_of_row = [&] { return p.segments * p.column_groups; };
  p.segments = even_piece(e.segments, 8);
  p.rows = even_piece(e.height, kPatchThreads / threads_of_row());
  while (p.rows > 1 && p.threads() > 64 && blocks_of(p, e) < kManyBlocks) {
    const std::int64_t rows = even_piece(e.height, p.rows - 1);
    if (e.height % rows == 0 || p.column_groups % 2 != 0 || p.column_groups < 8) {
      p.rows = rows;
    } else {
      p.column_groups /= 2;
    }
  }
  while (p.rows == e.height && p.images < std::min(e.images, kMostImages) &&
         (p.images + 1) * p.rows * threads_of_row() <= kPatchThreads &&
         blocks_of(p, e) * p.images >= kManyBlocks * (p.images + 1)) {
    ++p.images;
  }
  while (p.splits < 4 && 2 * p.splits <= terms && 2 * p.threads() <= kMostThreads &&
         blocks_of(p, e) * tiles_over(p.threads(), 32) < kManyWarps) {
    p.splits *= 2;
  }
}

void shrink(Patch& p, const Extents& e) {
  if (p.images > 1) {
    --p.images;
  } else if (p.rows > 1) {
    p.rows = even_piece(e.height, p.rows - 1);
  } else if (p.column_groups > 1) {
    p.column_groups = even_piece(e.groups, p.column_groups - 1);
  } else {
    p.segments = even_piece(e.segments, p.segments - 1);
  }
}

/// As many channels at a time as there is place for, in equal turns.
bool take_depth(Patch& p, std::int64_t terms, std::int64_t pack) {
  for (std::int64_t turns = tiles_over(terms, kDeepest);; ++turns) {
    p.depth = rounded_up(tiles_over(terms, turns), pack);
    if (p.memory() <= kPatchFloats) return true;
    if (p.depth == pack) return false;
  }
}

}  // namespace

std::int64_t Patch::pack() const {
  const std::int64_t shift = pixels * steps[1];
  return shift % 4 == 0 ? 4 : shift % 2 == 0 ? 2 : 1;
}

std::int64_t Patch::pitch() const { return rounded_up(reach(width(), steps[1], taps[1]), pack()); }

std::int64_t Patch::channel_pitch() const {
  // Threads that write 4 channels each of pixels side by side meet other banks.
  const std::int64_t floats = images * reach(rows, steps[0], taps[0]) * pitch();
  return rounded_up(floats, 8) + (depth <= 8 || pack() == 4 ? 4 : 2);
}

std::int64_t Patch::memory() const {
  const std::int64_t operands = depth * (taps[0] * taps[1] * channels() + channel_pitch());
  return splits == 1 ? operands : std::max(operands, threads() / splits * pixels * columns);
}

std::int64_t Patch::blocks(const Sliding& s) const {
  return blocks_of(*this, extents_of(s, *this));
}

std::string Patch::defines(const Sliding& s) const {
  const bool is_short = taps[0] * taps[1] * pixels * columns <= kUnrolled;
  return define("PX", pixels) + define("RN", columns) + define("SEGMENTS", segments) +
         define("ROWS", rows) + define("IMAGES", images) + define("COLUMN_GROUPS", column_groups) +
         define("SPLITS", splits) + define("DEPTH", depth) + define("TAPS_Y", taps[0]) +
         define("TAPS_X", taps[1]) + define("STEP_Y", steps[0]) + define("STEP_X", steps[1]) +
         define("STRIDE_Y", std::int64_t{s.c.slides[1].stride}) +
         define("STRIDE_X", std::int64_t{s.c.slides[2].stride}) +
         define("WINDOW_X", std::int64_t{s.c.slides[2].window}) + define("EVEN_TAPS", even_taps) +
         define("WHOLE_INNER", std::int64_t{s.inner() % depth == 0}) +
         define("WHOLE_OUTER", std::int64_t{s.outer() % channels() == 0}) + define("WX", pack()) +
         define("PITCH", pitch()) + define("CHANNEL", channel_pitch()) +
         define("MEMORY", memory()) + define("UNROLLED", is_short ? taps[0] : 1) +
         define("BLOCKS", resident_blocks(threads(), pixels * columns));
}

Patch patch_of(const Sliding& s, std::int64_t pack) {
  const auto& [front, height, width] = s.c.slides;
  const Phases phases = phases_of(s);
  Patch p;
  p.taps = {height.window, width.window};
  p.steps = {height.stride, width.stride};
  if (s.backward) {
    p.taps = {tiles_over(height.window, height.stride), tiles_over(width.window, width.stride)};
    p.steps = {1, 1};
    p.even_taps = height.window % height.stride == 0 && width.window % width.stride == 0;
  }
  p.pixels = pixels_of(phases.extents[2]);
  const std::int64_t results = phases.number * s.c.images * phases.pixels() * s.outer();
  const bool is_wide = s.outer() % 64 == 0 && results / (p.pixels * 8) >= kManyBlocks * 96;
  p.columns = is_wide ? 8 : 4;
  const Extents extents = extents_of(s, p);
  p.column_groups = even_piece(extents.groups, is_wide ? 8 : 16);
  if (!is_wide || !take_even_warps(p, extents)) take_rows(p, extents, s.inner());
  while (!take_depth(p, s.inner(), pack)) shrink(p, extents);
  return p;
}

}  // namespace meshwork::cuda::windows
