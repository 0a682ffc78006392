// y[.., output_dim] = embeddings[x[..]], of a table that LoRA may adapt
#include "model/layers/embedding.h"

#include "model/arguments.h"
#include "model/layers/masks.h"
#include "ops/ops.h"

namespace meshwork::layers {

TableArguments read_table(config::Reader& args) {
  TableArguments table;
  table.rows = args.require_integer("input_dim", config::at_least(1));
  table.width = args.require_integer("output_dim", config::at_least(1));
  table.initializer = read_initializer(args, "embeddings_initializer", "uniform");
  table.mask_zero = args.get("mask_zero", false);
  table.lora = read_lora(args);
  args.find("input_length");  // of Keras 2; the input says it
  if (const config::Value* weights = args.find_refused("weights")) {
    fail_at(
        weights->at,
        "{}: 'weights' are read from a file: name one that holds 'embeddings' of this layer with "
        "fit --from, and --skip-mismatch, if it holds nothing else",
        args.what());
  }
  refuse_arguments(args, {"quantization_config"});
  return table;
}

ValueId add_table(Scope& scope, const TableArguments& table, const std::string& prefix) {
  return add_base(scope, table.lora, prefix + "embeddings", {table.rows, table.width},
                  table.initializer);
}

ValueId take_rows(Scope& scope, const TableArguments& table, ValueId embeddings, ValueId numbers) {
  GraphBuilder& b = scope.builder();
  numbers = ops::cast(b, numbers, DType::kInt32);
  if (table.mask_zero) scope.set_mask(differs(b, ops::cast(b, numbers, DType::kFloat32), 0));
  return b.add(ops::kEmbedding, {embeddings, numbers});
}

namespace {

ValueId build(Scope& scope, config::Reader& args, std::span<const ValueId> inputs) {
  const TableArguments table = read_table(args);
  const ValueId embeddings = adapt(scope, table.lora, "embeddings", add_table(scope, table));
  return take_rows(scope, table, embeddings, inputs[0]);
}

}  // namespace

const LayerDef kEmbedding{.names = {"Embedding"}, .build = build, .takes_any_dtype = true};

}  // namespace meshwork::layers
