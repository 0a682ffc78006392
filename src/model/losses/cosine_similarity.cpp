// l = -sum over the last dimension of (y / |y|) (p / |p|), lengths of at least epsilon
#include "model/losses/cosine_similarity.h"

#include "model/epsilon.h"
#include "model/losses/last_axis.h"
#include "model/unit_length.h"
#include "ops/ops.h"

namespace meshwork::losses {
namespace {

Compared compare(const Comparison& c) { return {ops::negate(c.b, cosine_similarity(c))}; }

CompareFunction read(config::Reader& args) { return along_last(args, compare); }

}  // namespace

ValueId cosine_similarity(const Comparison& c) {
  GraphBuilder& b = c.b;
  const auto [y, p] = match_shapes(c);
  const auto axis = static_cast<std::int64_t>(b.shape(y).size()) - 1;
  const auto unit = [&](ValueId x) { return to_unit_length(b, x, {axis}, kEpsilon); };
  return ops::reduce_sum(b, ops::multiply(b, unit(y), unit(p)), {axis}, false);
}

const LossDef kCosineSimilarity{.names = {"CosineSimilarity", "cosine_similarity"}, .read = read};

}  // namespace meshwork::losses
