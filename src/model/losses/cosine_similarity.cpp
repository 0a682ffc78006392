// l = -sum over the last dimension of (y / |y|) (p / |p|), lengths of at least epsilon
#include "model/losses/crossentropy.h"
#include "model/losses/last_axis.h"
#include "ops/ops.h"

namespace meshwork::losses {
namespace {

ValueId normalized(GraphBuilder& b, ValueId x) {
  const auto axis = static_cast<std::int64_t>(b.shape(x).size()) - 1;
  const ValueId sum = ops::reduce_sum(b, ops::square(b, x), {axis}, true);
  const ValueId square = ops::maximum(b, sum, ops::constant(b, kEpsilon * kEpsilon));
  return ops::divide(b, x, ops::sqrt(b, square));
}

Compared compare(const Comparison& c) { return {ops::negate(c.b, cosine_similarity(c))}; }

CompareFunction read(config::Reader& args) { return along_last(args, compare); }

}  // namespace

ValueId cosine_similarity(const Comparison& c) {
  GraphBuilder& b = c.b;
  const auto [y, p] = match_shapes(c);
  const auto axis = static_cast<std::int64_t>(b.shape(y).size()) - 1;
  return ops::reduce_sum(b, ops::multiply(b, normalized(b, y), normalized(b, p)), {axis}, false);
}

const LossDef kCosineSimilarity{.names = {"CosineSimilarity", "cosine_similarity"}, .read = read};

}  // namespace meshwork::losses
