#include "backend/cpu/product_rows.h"

#include <omp.h>

#include <algorithm>
#include <numeric>

#include "backend/cpu/equation.h"
#include "base/check.h"
#include "base/parallel.h"

namespace meshwork::cpu {
namespace {

constexpr std::int64_t kBlockBytes = std::int64_t{256} << 10U;

/// With fewer rows oneDNN's GEMM is slower; they may take more bytes, but not many more.
constexpr std::int64_t kFewestRows = 96;
constexpr std::int64_t kMostBytes = std::int64_t{1} << 20U;

Gemm make_gemm(const FusionGroup& args, const FusionGroup::Member& member) {
  MW_CHECK(member.operands.size() == 2 && !member.is_read && member.output.type.shape.size() == 2);
  const TensorView &x = args.inputs.at(member.operands[0]), &w = args.inputs.at(member.operands[1]);
  const EinsumPlan plan =
      plan_einsum(parse_equation(member.attrs.text("equation"), x.type.shape, w.type.shape), false);
  MW_CHECK(Gemm::can_compute(plan) && !plan.copies(), "no product by rows: {}",
           member.attrs.text("equation"));
  return {plan, x.data, w.data, nullptr};
}

/// As many blocks for every thread.
std::int64_t rows_of_block(const Shape& shape, std::int64_t tile) {
  const std::int64_t row_bytes =
      std::max<std::int64_t>(1, shape[1]) * static_cast<std::int64_t>(sizeof(float));
  const std::int64_t threads = omp_get_max_threads();
  const std::int64_t blocks = (shape[0] * row_bytes / (kBlockBytes * threads) + 1) * threads;
  const std::int64_t fewest = std::clamp<std::int64_t>(kMostBytes / row_bytes, 1, kFewestRows);
  const std::int64_t rows = std::max(fewest, ceil_divide(shape[0], blocks));
  const std::int64_t whole = tile / std::gcd(tile, shape[1]);
  return ceil_divide(rows, whole) * whole;
}

}  // namespace

ProductRows::ProductRows(const FusionGroup& args, const FusionGroup::Member& member,
                         std::int64_t tile)
    : gemm_(make_gemm(args, member)),
      row_(member.output.type.shape[1]),
      rows_(rows_of_block(member.output.type.shape, tile)) {}

}  // namespace meshwork::cpu
