// y = activation(einsum(equation, x, kernel) + bias), the kernel adapted by LoRA
#include "model/activations/activation.h"
#include "model/arguments.h"
#include "model/layers/contraction.h"
#include "model/layers/lora.h"
#include "ops/ops.h"

namespace meshwork::layers {
namespace {

ValueId build(Scope& scope, config::Reader& args, std::span<const ValueId> inputs) {
  GraphBuilder& b = scope.builder();
  const Contraction contraction(args, b.shape(inputs[0]));
  const Activation activation = read_activation(args.find("activation"));
  const config::Value* bias_axes = args.find("bias_axes");
  const auto kernel_init = read_initializer(args, "kernel_initializer", "glorot_uniform");
  const auto bias_init = read_initializer(args, "bias_initializer", "zeros");
  refuse_arguments(args, {"gptq_unpacked_column_size", "quantization_config"});
  const Lora lora = read_lora(args);
  const ValueId base = add_base(scope, lora, "kernel", contraction.kernel_shape(),
                                with_fans(kernel_init, contraction.fans()));
  const Shape bias_shape = bias_axes != nullptr ? contraction.bias_shape(*bias_axes) : Shape{};
  const ValueId bias =
      scope.optional_variable(bias_axes != nullptr, "no bias_axes", "bias", bias_shape, bias_init);
  const ValueId kernel = adapt(scope, lora, "kernel", base);
  ValueId y = contraction.apply(b, inputs[0], kernel);
  if (bias != kNoValue) y = ops::add(b, y, bias);
  return activation(b, y);
}

}  // namespace

const LayerDef kEinsumDense{.names = {"EinsumDense"}, .build = build};

}  // namespace meshwork::layers
