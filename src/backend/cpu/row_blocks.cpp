#include "backend/cpu/row_blocks.h"

#include <omp.h>

#include <algorithm>
#include <numeric>

#include "base/check.h"
#include "base/parallel.h"
#include "base/rounded_up.h"

namespace meshwork::cpu {
namespace {

constexpr std::int64_t kBlockBytes = std::int64_t{256} << 10U;

/// With fewer rows oneDNN's GEMM is slower; they may take more bytes, but not many more.
constexpr std::int64_t kFewestRows = 96;
constexpr std::int64_t kMostBytes = std::int64_t{1} << 20U;

/// Elements; as many blocks for every thread.
std::int64_t block_of(const Shape& shape, std::int64_t tile) {
  const std::int64_t row_bytes =
      std::max<std::int64_t>(1, shape[1]) * static_cast<std::int64_t>(sizeof(float));
  const std::int64_t threads = omp_get_max_threads();
  const std::int64_t blocks = (shape[0] * row_bytes / (kBlockBytes * threads) + 1) * threads;
  const std::int64_t fewest = std::clamp<std::int64_t>(kMostBytes / row_bytes, 1, kFewestRows);
  const std::int64_t rows = std::max(fewest, ceil_divide(shape[0], blocks));
  const std::int64_t whole = tile / std::gcd(tile, shape[1]);
  return ceil_divide(rows, whole) * whole * shape[1];
}

struct Kind {
  std::string_view op;
  RowBlocks (*rows)(const FusionGroup&, const FusionGroup::Member&, std::int64_t block);
};

constexpr Kind kKinds[] = {
    {"einsum", product_rows},
    {"embedding_gradient", embedding_gradient_rows},
};

const Kind* find_kind(std::string_view op) {
  const auto* const found =
      std::find_if(std::begin(kKinds), std::end(kKinds), [&](const Kind& k) { return k.op == op; });
  return found == std::end(kKinds) ? nullptr : found;
}

}  // namespace

bool is_by_rows(const FusionGroup::Member& member) { return find_kind(member.op) != nullptr; }

RowBlocks row_blocks(const FusionGroup& args, const FusionGroup::Member& member,
                     std::int64_t tile) {
  const Shape& shape = member.output.type.shape;
  MW_CHECK(member.operands.size() == 2 && !member.is_read && shape.size() == 2);
  return find_kind(member.op)->rows(args, member, block_of(shape, tile));
}

}  // namespace meshwork::cpu
