// Sum, Mean, Max, Min, Var, Std: Keras's operations over `axis`, a dimension of the samples or
// several, which are left out, or of extent 1 with `keepdims`
#include "model/arguments.h"
#include "model/layers/operation.h"
#include "ops/ops.h"

namespace meshwork::layers {
namespace {

using Axes = std::vector<std::int64_t>;
using Reduce = ValueId (*)(GraphBuilder& b, ValueId x, Axes axes, bool keepdims);

ValueId least(GraphBuilder& b, ValueId x, Axes axes, bool keepdims) {
  return ops::negate(b, ops::reduce_max(b, ops::negate(b, x), std::move(axes), keepdims));
}

ValueId variance(GraphBuilder& b, ValueId x, Axes axes, bool keepdims) {
  const ValueId distance = ops::subtract(b, x, ops::reduce_mean(b, x, axes, true));
  return ops::reduce_mean(b, ops::square(b, distance), std::move(axes), keepdims);
}

ValueId deviation(GraphBuilder& b, ValueId x, Axes axes, bool keepdims) {
  return ops::sqrt(b, variance(b, x, std::move(axes), keepdims));
}

/// Sums are of float32, as JAX's, and rounded to the dtype of the input.
template <Reduce kReduce, bool kSums>
ValueId build(Scope& scope, config::Reader& args, std::span<const ValueId> inputs) {
  GraphBuilder& b = scope.builder();
  const ValueId x = to_real(scope, inputs[0]);
  if (!kSums) refuse_arguments(args, {"initial"});
  Axes axes = require_sample_axes(args, b.shape(x).size());
  const ValueId wide = kSums ? scope.cast(x, DType::kFloat32) : x;
  const ValueId y = kReduce(b, wide, std::move(axes), args.get("keepdims", false));
  return give(scope, args, scope.cast(y, b.type(x).dtype));
}

template <Reduce kReduce, bool kSums>
LayerDef operation(std::vector<std::string_view> names) {
  return {.names = std::move(names),
          .build = build<kReduce, kSums>,
          .takes_any_dtype = true,
          .module = kNumpyOperations};
}

}  // namespace

const LayerDef kMax = operation<ops::reduce_max, false>({"Max", "Amax"});
const LayerDef kMean = operation<ops::reduce_mean, true>({"Mean"});
const LayerDef kMin = operation<least, false>({"Min", "Amin"});
const LayerDef kStd = operation<deviation, true>({"Std"});
const LayerDef kSum = operation<ops::reduce_sum, true>({"Sum"});
const LayerDef kVar = operation<variance, true>({"Var"});

}  // namespace meshwork::layers
