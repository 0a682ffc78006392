// max(x, 0) and its kin: pieces of straight lines
#include "model/activations/activation.h"
#include "model/activations/parts.h"
#include "ops/ops.h"

namespace meshwork::activations {
namespace {

ValueId relu(GraphBuilder& b, ValueId x) { return b.add(ops::kRelu, {x}); }

ValueId relu6(GraphBuilder& b, ValueId x) {
  return b.add(ops::kMinimum, {relu(b, x), ops::constant_like(b, 6.0, x)});
}

struct ReluArguments {
  double slope = 0.0;
  std::optional<double> most;
  double threshold = 0.0;
};

// x above the threshold, with `most` no more than that and no less than 0; below the threshold
// slope (x - threshold)
ValueId general_relu(GraphBuilder& b, ValueId x, const ReluArguments& args) {
  if (args.slope != 0 && !args.most && args.threshold == 0) return leaky_relu(b, x, args.slope);
  ValueId y = args.threshold == 0 ? relu(b, x) : keep_above(b, x, args.threshold, 0.0);
  if (args.most && args.threshold < 0) y = ops::maximum(b, y, ops::constant_like(b, 0.0, x));
  if (args.most) y = ops::minimum(b, y, ops::constant_like(b, *args.most, x));
  if (args.slope == 0) return y;
  const ValueId below = ops::subtract(b, ops::constant_like(b, args.threshold, x), x);
  return ops::subtract(b, y, ops::scale(b, relu(b, below), args.slope));
}

Activation read_relu(config::Reader& args) {
  ReluArguments relu_args;
  relu_args.slope = args.get("negative_slope", 0.0);
  relu_args.most = args.get_real("max_value", config::at_least(0));
  relu_args.threshold = args.get("threshold", 0.0);
  return [relu_args](GraphBuilder& b, ValueId x) { return general_relu(b, x, relu_args); };
}

Activation read_leaky_relu(config::Reader& args) {
  const double slope = args.get("negative_slope", 0.2);
  return [slope](GraphBuilder& b, ValueId x) { return leaky_relu(b, x, slope); };
}

Activation read_threshold(config::Reader& args) {
  const double bound = args.require("threshold").as_real("threshold");
  const double otherwise = args.require("default_value").as_real("default_value");
  return [=](GraphBuilder& b, ValueId x) { return keep_above(b, x, bound, otherwise); };
}

}  // namespace

const ActivationDef kLeakyRelu{.names = {"leaky_relu"}, .read = read_leaky_relu};
const ActivationDef kLinear{
    .names = {"linear"},
    .read = [](config::Reader&) -> Activation {
      return [](GraphBuilder&, ValueId x) { return x; };
    },
};

const ActivationDef kRelu{.names = {"relu"}, .read = read_relu};
const ActivationDef kRelu6{.names = {"relu6"}, .read = plain<relu6>};
const ActivationDef kThreshold{.names = {"threshold"}, .read = read_threshold};

}  // namespace meshwork::activations
