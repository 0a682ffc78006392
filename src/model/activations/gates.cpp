// x times a gate that opens with x
#include <cmath>
#include <numbers>

#include "model/activations/activation.h"
#include "model/activations/parts.h"
#include "model/arguments.h"
#include "ops/ops.h"

namespace meshwork::activations {
namespace {

// x Phi(x) = x (1 + erf(x / sqrt 2)) / 2
ValueId gelu(GraphBuilder& b, ValueId x) {
  const ValueId erf = b.add(ops::kErf, {ops::scale(b, x, std::numbers::sqrt2 / 2)});
  const ValueId half = ops::scale(b, x, 0.5);
  return ops::multiply(b, half, ops::shift(b, erf, 1.0));
}

// x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))) / 2
ValueId approximate_gelu(GraphBuilder& b, ValueId x) {
  const ValueId cube = ops::multiply(b, ops::square(b, x), x);
  const ValueId sum = ops::add(b, x, ops::scale(b, cube, 0.044715));
  const ValueId tanh = b.add(ops::kTanh, {ops::scale(b, sum, std::sqrt(2 / std::numbers::pi))});
  const ValueId half = ops::scale(b, x, 0.5);
  return ops::multiply(b, half, ops::shift(b, tanh, 1.0));
}

Activation read_gelu(config::Reader& args) {
  return args.get("approximate", false) ? approximate_gelu : gelu;
}

// x / (1 + exp(-x))
ValueId silu(GraphBuilder& b, ValueId x) { return ops::multiply(b, x, b.add(ops::kSigmoid, {x})); }

ValueId hard_silu(GraphBuilder& b, ValueId x) {
  const ValueId gate = ops::scale(b, ops::clip(b, ops::shift(b, x, 3.0), 0.0, 6.0), 1.0 / 6.0);
  return ops::multiply(b, x, gate);
}

// x tanh(ln(1 + exp(x)))
ValueId mish(GraphBuilder& b, ValueId x) {
  return ops::multiply(b, x, b.add(ops::kTanh, {b.add(ops::kSoftplus, {x})}));
}

// [.., 2 c, ..] -> [.., c, ..]: the first half times the sigmoid of the second
Activation read_glu(config::Reader& args) {
  std::optional<config::Value> axis;
  if (const config::Value* given = args.find("axis")) axis = *given;
  return [axis, what = args.what(), at = args.at()](GraphBuilder& b, ValueId x) {
    const Shape shape = b.shape(x);
    const config::Value* const given = axis ? &*axis : nullptr;
    const std::int64_t dim = read_sample_axis(what, at, given, shape.size());
    const std::int64_t size = shape[static_cast<std::size_t>(dim)];
    if (size % 2 != 0) fail_at(at, "activation glu: dimension {} is {}, an odd number", dim, size);
    const auto half = [&](std::int64_t start) {
      return b.add(ops::kSlice, {x}, {{"axis", dim}, {"start", start}, {"size", size / 2}});
    };
    return ops::multiply(b, half(0), b.add(ops::kSigmoid, {half(size / 2)}));
  };
}

}  // namespace

const ActivationDef kGelu{.names = {"gelu"}, .read = read_gelu};
const ActivationDef kGlu{.names = {"glu"}, .read = read_glu};
const ActivationDef kHardSilu{.names = {"hard_silu", "hard_swish"}, .read = plain<hard_silu>};
const ActivationDef kMish{.names = {"mish"}, .read = plain<mish>};
const ActivationDef kSilu{.names = {"silu", "swish"}, .read = plain<silu>};

}  // namespace meshwork::activations
