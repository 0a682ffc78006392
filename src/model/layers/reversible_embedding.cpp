// y[.., output_dim] = embeddings[x[..]]; with `reverse` y[.., input_dim] = x embeddings^T, or
// x reverse_embeddings, in float32 or `reverse_dtype`, soft-capped: cap tanh(y / cap)
#include "graph/dim_rule.h"
#include "model/arguments.h"
#include "model/layers/embedding.h"
#include "ops/ops.h"

namespace meshwork::layers {
namespace {

struct Reverse {
  DType factors = DType::kFloat32, result = DType::kFloat32;
  std::optional<double> soft_cap;
};

Reverse read_reverse(Scope& scope, config::Reader& args) {
  Reverse reverse;
  const bool is_given = args.find("reverse_dtype") != nullptr;
  reverse.factors = args.choose(
      "reverse_dtype", scope.output_dtype(),
      {{"float32", DType::kFloat32}, {"bfloat16", DType::kBFloat16}, {"float16", DType::kFloat16}});
  if (is_given) reverse.result = reverse.factors;
  reverse.soft_cap = args.get_real("logit_soft_cap", config::more_than(0));
  return reverse;
}

/// "a b c, v c -> a b v" for rank 3; "a b c, c v -> a b v" of a table of its own.
std::string projection(std::size_t rank, bool is_tied) {
  const std::string all = factor_names(rank);
  const std::string leading = factor_names(rank - 1);
  const std::string last = factor_name(rank - 1);
  return fmt::format("{}, {} -> {} v", all, is_tied ? "v " + last : last + " v", leading);
}

ValueId logits(Scope& scope, const Reverse& reverse, ValueId x, ValueId table, bool is_tied) {
  GraphBuilder& b = scope.builder();
  x = scope.cast(x, reverse.factors);
  table = scope.cast(table, reverse.factors);
  ValueId y = b.add(ops::kEinsum, {x, table},
                    {{"equation", projection(b.shape(x).size(), is_tied)},
                     {"dtype", std::string(to_string(reverse.result))}});
  scope.set_output_dtype(reverse.result);
  if (!reverse.soft_cap) return y;
  y = b.add(ops::kTanh, {ops::divide(b, y, ops::constant(b, *reverse.soft_cap))});
  return ops::scale(b, y, *reverse.soft_cap);
}

ValueId build(Scope& scope, config::Reader& args, std::span<const ValueId> inputs) {
  const GraphBuilder& b = scope.builder();
  const TableArguments table = read_table(args);
  const bool is_tied = args.get("tie_weights", true);
  const bool is_reverse = args.get("reverse", false);
  const Reverse reverse = read_reverse(scope, args);
  const ValueId base = add_table(scope, table);
  const ValueId embeddings = adapt(scope, table.lora, "embeddings", base);
  const ValueId own = scope.optional_variable(!is_tied, "tie_weights: true", "reverse_embeddings",
                                              {table.width, table.rows}, table.initializer);
  if (!is_reverse) return take_rows(scope, table, embeddings, inputs[0]);
  const Shape& shape = b.shape(inputs[0]);
  if (shape.size() < 2 || shape.back() != table.width) {
    fail_at(args.at(), "{}: reverse: samples are {}, but their last dimension has to be {}",
            args.what(), sample_shape(shape), table.width);
  }
  return logits(scope, reverse, inputs[0], is_tied ? embeddings : own, is_tied);
}

}  // namespace

const LayerDef kReversibleEmbedding{.names = {"ReversibleEmbedding"},
                                    .build = build,
                                    .takes_any_dtype = true,
                                    .call_arguments = {"reverse"}};

}  // namespace meshwork::layers
