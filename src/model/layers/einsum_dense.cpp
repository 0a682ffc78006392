// y = activation(einsum(equation, x, kernel) + bias)
#include "model/activations/activation.h"
#include "model/arguments.h"
#include "model/layers/contraction.h"
#include "ops/ops.h"

namespace meshwork::layers {
namespace {

ValueId build(Scope& scope, config::Reader& args, std::span<const ValueId> inputs) {
  GraphBuilder& b = scope.builder();
  const Contraction contraction(args, b.shape(inputs[0]));
  const Activation activation = read_activation(args.find("activation"));
  const config::Value* bias_axes = args.find("bias_axes");
  const auto kernel_init = read_initializer(args.find("kernel_initializer"), "glorot_uniform");
  const auto bias_init = read_initializer(args.find("bias_initializer"), "zeros");
  refuse_arguments(
      args, {"kernel_regularizer", "bias_regularizer", "kernel_constraint", "bias_constraint",
             "lora_rank", "lora_alpha", "gptq_unpacked_column_size", "quantization_config"});
  const ValueId kernel = scope.variable("kernel", contraction.kernel_shape(),
                                        with_fans(kernel_init, contraction.fans()));
  ValueId y = contraction.apply(b, inputs[0], kernel);
  const Shape bias_shape = bias_axes != nullptr ? contraction.bias_shape(*bias_axes) : Shape{};
  const ValueId bias =
      scope.optional_variable(bias_axes != nullptr, "no bias_axes", "bias", bias_shape, bias_init);
  if (bias != kNoValue) y = ops::add(b, y, bias);
  return activation(b, y);
}

}  // namespace

const LayerDef kEinsumDense{.names = {"EinsumDense"}, .build = build};

}  // namespace meshwork::layers
