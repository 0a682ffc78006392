// y[.., output_dim] = embeddings[x[..]]
#include "model/arguments.h"
#include "model/layers/masks.h"
#include "ops/ops.h"

namespace meshwork::layers {
namespace {

ValueId build(Scope& scope, config::Reader& args, std::span<const ValueId> inputs) {
  GraphBuilder& b = scope.builder();
  const std::int64_t rows = args.require_integer("input_dim", config::at_least(1));
  const std::int64_t width = args.require_integer("output_dim", config::at_least(1));
  const auto init = read_initializer(args.find("embeddings_initializer"), "uniform");
  const bool mask_zero = args.get("mask_zero", false);
  refuse_arguments(args, {"embeddings_regularizer", "embeddings_constraint", "weights", "lora_rank",
                          "lora_alpha", "quantization_config"});
  const ValueId embeddings = scope.variable("embeddings", {rows, width}, init);
  const ValueId numbers = ops::cast(b, inputs[0], DType::kInt32);
  if (mask_zero) scope.set_mask(differs(b, ops::cast(b, numbers, DType::kFloat32), 0));
  return b.add(ops::kEmbedding, {embeddings, numbers});
}

}  // namespace

const LayerDef kEmbedding{.names = {"Embedding"}, .build = build, .takes_any_dtype = true};

}  // namespace meshwork::layers
