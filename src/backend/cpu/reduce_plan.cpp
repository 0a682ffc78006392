#include "backend/cpu/reduce_plan.h"

#include <algorithm>

#include "backend/merged_dims.h"
#include "base/rounded_up.h"

namespace meshwork::cpu {
namespace {

constexpr std::int64_t kReducedPart = 8192;  ///< reduced columns that are folded in one go
constexpr std::int64_t kBlockElements = 65536;
constexpr std::int64_t kBlockRows = 64;  ///< at least, so that results of blocks weigh little

std::int64_t offset(std::int64_t place, const Shape& extents, const Shape& strides) {
  std::int64_t result = 0;
  for (std::size_t d = extents.size(); d-- > 0;) {
    result += place % extents[d] * strides[d];
    place /= extents[d];
  }
  return result;
}

void choose_blocks(ReducePlan& plan) {
  plan.part = std::min(plan.columns, plan.reduces_columns ? kReducedPart : kKeptPart);
  plan.parts = ceil_divide(plan.columns, plan.part);
  const std::int64_t rows = plan.reduces_columns ? plan.reduced * plan.parts : plan.reduced;
  plan.block = kBlockElements / plan.part;
  if (!plan.reduces_columns) plan.block = std::max(plan.block, kBlockRows);
  plan.blocks = ceil_divide(rows, plan.block);
}

}  // namespace

std::int64_t ReducePlan::row(std::int64_t p, std::int64_t q) const {
  return offset(p, kept_extents, kept_strides) + offset(q, reduced_extents, reduced_strides);
}

ReducePlan plan_reduce(const Shape& x, const std::vector<std::int64_t>& axes) {
  std::vector<MergedDim> dims = merged_dims(x, axes);
  ReducePlan plan;
  if (!dims.empty()) {
    plan.columns = dims.back().extent;
    plan.reduces_columns = dims.back().reduced;
    dims.pop_back();
  }
  for (const MergedDim& dim : dims) {
    (dim.reduced ? plan.reduced : plan.kept) *= dim.extent;
    (dim.reduced ? plan.reduced_extents : plan.kept_extents).push_back(dim.extent);
    (dim.reduced ? plan.reduced_strides : plan.kept_strides).push_back(dim.stride);
  }
  choose_blocks(plan);
  return plan;
}

}  // namespace meshwork::cpu
