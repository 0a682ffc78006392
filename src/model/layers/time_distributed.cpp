// y[.., t, ..] = layer(x[.., t, ..]), with the same variables for all t of dimension 1, and the
// mask of step t
#include <algorithm>

#include "model/arguments.h"
#include "model/layers/inner.h"
#include "ops/ops.h"

namespace meshwork::layers {
namespace {

std::vector<LayerPart> parts_of(const config::Value& args) {
  const Inner inner = read_inner(args, "layer");
  return {{inner.name, "layer", inner.def, inner.spec.args}};
}

void check_inner(const config::Reader& args, const Inner& inner) {
  if (inner.def->min_inputs > 1) {
    fail_at(inner.spec.at, "{}: '{}' takes several inputs; a step gives one", args.what(),
            inner.spec.name);
  }
  if (inner.def->mixes_samples) {
    fail_at(inner.spec.at,
            "{}: Keras takes the statistics of a {} here for each step by itself, "
            "which is not supported; put it into the model without the wrapper",
            args.what(), inner.spec.name);
  }
}

/// [batch, steps, ..] -> [batch steps, ..]
ValueId merge_steps(GraphBuilder& b, ValueId x) {
  const Shape& shape = b.shape(x);
  Shape merged(shape.begin() + 1, shape.end());
  merged[0] *= shape[0];
  return ops::reshape(b, x, merged);
}

/// What of a step counts, where the mask says more than which steps do. A layer that takes masks as
/// inputs of their own is given none, as in Keras.
ValueId mask_of_steps(const Scope& scope, GraphBuilder& b, const Inner& inner) {
  const ValueId mask = scope.mask(0);
  const bool says_more = mask != kNoValue && b.shape(mask).size() > 2;
  const bool takes_masks = std::ranges::any_of(
      inner.def->call_inputs, [](std::string_view name) { return name.ends_with("mask"); });
  return says_more && !takes_masks ? merge_steps(b, mask) : kNoValue;
}

ValueId build(Scope& scope, config::Reader& args, std::span<const ValueId> inputs) {
  GraphBuilder& b = scope.builder();
  const Inner inner = read_inner(args, "layer");
  check_inner(args, inner);
  const Shape shape = b.shape(inputs[0]);
  if (shape.size() < 3) {
    fail_at(args.at(), "{} needs samples [steps, features..], not {}", args.what(),
            sample_shape(shape));
  }
  const auto run = [&](const Masked& x) {
    return build_inner(scope, args, inner, inner.name, {&x, 1}, inner.def->build);
  };
  if (inner.def->takes_any_rank) return run({inputs[0]});
  const ValueId y = run({merge_steps(b, inputs[0]), mask_of_steps(scope, b, inner)});
  Shape result = b.shape(y);
  result[0] = shape[1];
  result.insert(result.begin(), shape[0]);
  return ops::reshape(b, y, result);
}

}  // namespace

const LayerDef kTimeDistributed{.names = {"TimeDistributed"},
                                .build = build,
                                .takes_any_dtype = true,
                                .passes_mask = true,
                                .parts_of = parts_of};

}  // namespace meshwork::layers
