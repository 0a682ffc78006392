// y[.., i, :] = token_embedding[x[.., i]] + position_embedding[i]
#include "model/arguments.h"
#include "model/layers/embedding.h"
#include "ops/ops.h"

namespace meshwork::layers {
namespace {

ValueId build(Scope& scope, config::Reader& args, std::span<const ValueId> inputs) {
  GraphBuilder& b = scope.builder();
  TableArguments tokens;
  tokens.rows = args.require_integer("vocabulary_size", config::at_least(1));
  tokens.width = args.require_integer("embedding_dim", config::at_least(1));
  tokens.initializer = read_initializer(args, "embeddings_initializer", "uniform");
  tokens.mask_zero = args.get("mask_zero", false);
  TableArguments positions = tokens;
  positions.rows = args.require_integer("sequence_length", config::at_least(1));
  const bool is_tied = args.get("tie_weights", true);
  if (b.shape(inputs[0]).size() < 2) {
    fail_at(args.at(), "{} needs samples [steps] of numbers of tokens, not {}", args.what(),
            sample_shape(b.shape(inputs[0])));
  }
  const ValueId table = add_table(scope, tokens, "token_embedding/");
  scope.optional_variable(!is_tied, "tie_weights: true", "token_embedding/reverse_embeddings",
                          {tokens.width, tokens.rows}, tokens.initializer);
  const ValueId embedded = take_rows(scope, tokens, table, inputs[0]);
  return ops::add(b, embedded,
                  add_positions(scope, args, positions, b.shape(embedded), "position_embedding/"));
}

}  // namespace

const LayerDef kTokenAndPositionEmbedding{
    .names = {"TokenAndPositionEmbedding"},
    .build = build,
    .takes_any_dtype = true,
    .parts = {{"token_embedding", "token_embedding"}, {"position_embedding", "position_embedding"}},
    .module = "keras_hub.layers"};

}  // namespace meshwork::layers
