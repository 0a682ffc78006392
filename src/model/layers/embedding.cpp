// y[.., output_dim] = embeddings[x[..]]
#include "model/arguments.h"
#include "model/layers/layer.h"
#include "ops/ops.h"

namespace meshwork::layers {
namespace {

ValueId build(Scope& scope, config::Reader& args, std::span<const ValueId> inputs) {
  GraphBuilder& b = scope.builder();
  const std::int64_t rows = args.require_integer("input_dim", config::at_least(1));
  const std::int64_t width = args.require_integer("output_dim", config::at_least(1));
  const auto init = read_initializer(args.find("embeddings_initializer"), "uniform");
  if (args.get("mask_zero", false)) {
    fail_at(args.at(), "{}: there are no masks; leave mask_zero out", args.what());
  }
  refuse_arguments(args, {"embeddings_regularizer", "embeddings_constraint", "weights", "lora_rank",
                          "lora_alpha", "quantization_config"});
  const ValueId embeddings = scope.variable("embeddings", {rows, width}, init);
  return b.add(ops::kEmbedding, {embeddings, ops::cast(b, inputs[0], DType::kInt32)});
}

}  // namespace

const LayerDef kEmbedding{.names = {"Embedding"}, .build = build, .takes_any_dtype = true};

}  // namespace meshwork::layers
