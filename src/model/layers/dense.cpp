// y[.., units] = activation(x[.., in] kernel[in, units] + bias[units]), the kernel adapted by LoRA
#include "graph/dim_rule.h"
#include "model/activations/activation.h"
#include "model/arguments.h"
#include "model/layers/lora.h"
#include "ops/ops.h"

namespace meshwork::layers {
namespace {

/// "a b, b units -> a units" for rank 2.
std::string contraction(std::size_t rank) {
  const std::string all = factor_names(rank);
  const std::string leading = factor_names(rank - 1);
  const std::string last = all.substr(leading.size() + 1);
  return fmt::format("{}, {} units -> {} units", all, last, leading);
}

ValueId build(Scope& scope, config::Reader& args, std::span<const ValueId> inputs) {
  GraphBuilder& b = scope.builder();
  const Shape shape = b.shape(inputs[0]);
  const std::int64_t units = args.require_integer("units", config::at_least(1));
  const Activation activation = read_activation(args.find("activation"));
  const bool use_bias = args.get("use_bias", true);
  const auto kernel_init = read_initializer(args, "kernel_initializer", "glorot_uniform");
  const auto bias_init = read_initializer(args, "bias_initializer", "zeros");
  refuse_arguments(args, {"quantization_config"});
  const Lora lora = read_lora(args);
  if (shape.size() < 2) {
    fail_at(args.at(), "{} needs samples of one dimension or more, not {}; put a Reshape before it",
            args.what(), sample_shape(shape));
  }
  const ValueId base = add_base(scope, lora, "kernel", {shape.back(), units}, kernel_init);
  const ValueId bias =
      scope.optional_variable(use_bias, "use_bias: false", "bias", {units}, bias_init);
  const ValueId kernel = adapt(scope, lora, "kernel", base);
  ValueId y = ops::einsum(b, inputs[0], kernel, contraction(shape.size()));
  if (bias != kNoValue) y = ops::add(b, y, bias);
  return activation(b, y);
}

}  // namespace

const LayerDef kDense{
    .names = {"Dense"}, .build = build, .passes_mask = true, .takes_any_rank = true};

}  // namespace meshwork::layers
