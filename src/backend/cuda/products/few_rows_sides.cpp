#include "backend/cuda/products/few_rows_sides.h"

#include <algorithm>

#include "base/check.h"
#include "base/rounded_up.h"

namespace meshwork::cuda::products {
namespace {

/// So many blocks, or warps of blocks, are enough to fill a GPU...
constexpr std::int64_t kBlocks = 512;
/// ... and for a shorter sum another one does not pay.
constexpr std::int64_t kShortestOfBlock = 64, kShortestOfWarp = 1024;

}  // namespace

Sides::Sides(const EinsumPlan& plan, DType operands)
    : rows(std::min(plan.m, plan.n)),
      sizes{std::max(plan.m, plan.n), plan.k},
      swapped(plan.n < plan.m),
      stack(plan.stack),
      matrix_stack(swapped ? plan.x.stack : plan.w.stack),
      few_stack(swapped ? plan.w.stack : plan.x.stack),
      y_stack(plan.y.stack) {
  if (swapped) {
    strides = {plan.x.rows, plan.x.columns, plan.w.columns,
               plan.w.rows, plan.y.columns, plan.y.rows};
  } else {
    strides = {plan.w.columns, plan.w.rows, plan.x.rows,
               plan.x.columns, plan.y.rows, plan.y.columns};
  }
  by_dots = strides.matrix_k == 1;
  MW_CHECK(by_dots || strides.matrix_line == 1, "lines {} apart", strides.matrix_line);
  // What is there once has any stride.
  if (sizes.lines == 1) strides.matrix_line = 0;
  if (rows == 1) strides.few_row = 0;
  choose_widths(operands);
  choose_parts();
}

std::int64_t Sides::tiles(std::int64_t of_width) const {
  return ceil_divide(sizes.lines, 32 * of_width);
}

/// A load is whole if all that it may begin at, and the end, are multiples of it.
void Sides::choose_widths(DType operands) {
  const std::int64_t most = kFewRowsLoad / static_cast<std::int64_t>(size_of(operands));
  const auto are_whole = [&](std::int64_t end, std::int64_t stride, const Shape& stack_strides) {
    return end % most == 0 && stride % most == 0 &&
           std::all_of(stack_strides.begin(), stack_strides.end(),
                       [&](std::int64_t above) { return above % most == 0; });
  };
  if (are_whole(by_dots ? sizes.depth : sizes.lines,
                by_dots ? strides.matrix_line : strides.matrix_k, matrix_stack)) {
    width = most;
  }
  if (by_dots && width == most && strides.few_k == 1 &&
      are_whole(sizes.depth, strides.few_row, few_stack)) {
    few_width = most;
  }
}

void Sides::choose_parts() {
  const std::int64_t count = num_elements(stack);
  // Of few results: as many parts as fill the GPU, as long as they are not too short.
  const std::int64_t units = by_dots ? count * sizes.lines : count * tiles(width);
  const std::int64_t wanted = ceil_divide(by_dots ? kBlocks * kFewRowsWarps : kBlocks, units);
  const std::int64_t possible = sizes.depth / (by_dots ? kShortestOfWarp : kShortestOfBlock);
  const std::int64_t parts =
      std::clamp<std::int64_t>(wanted, 1, std::max<std::int64_t>(possible, 1));
  // In whole steps of a warp, whatever it loads at a time, or of a block.
  const std::int64_t step = by_dots ? 32 * kFewRowsLoad / 2 : kFewRowsWarps;
  sizes.part = ceil_divide(ceil_divide(sizes.depth, parts), step) * step;
  sizes.parts = ceil_divide(sizes.depth, sizes.part);
}

}  // namespace meshwork::cuda::products
