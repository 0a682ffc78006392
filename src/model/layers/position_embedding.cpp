// y[.., i, :] = embeddings[i], whatever x is
#include "model/arguments.h"
#include "model/layers/decoding.h"
#include "model/layers/embedding.h"
#include "model/layers/positions.h"
#include "ops/ops.h"

namespace meshwork::layers {

ValueId add_positions(Scope& scope, const config::Reader& args, const TableArguments& table,
                      const Shape& shape, const std::string& prefix) {
  const std::size_t dim = shape.size() - 2;
  const std::int64_t given = shape[dim];  // before the graph grows, in which the shape may lie
  const std::int64_t steps = scope.decoding() ? scope.decoding()->context : given;
  if (steps > table.rows) {
    fail_at(args.at(), "{}: sequence_length is {}, but samples have {} steps; give {} or more",
            args.what(), table.rows, steps, steps);
  }
  const ValueId embeddings = add_table(scope, table, prefix);
  if (scope.decoding()) {
    const ValueId places = places_along(scope, args, dim + 1, dim, given);
    return scope.builder().add(ops::kEmbedding,
                               {embeddings, ops::cast(scope.builder(), places, DType::kInt32)});
  }
  if (steps == table.rows) return embeddings;
  return scope.builder().add(ops::kSlice, {embeddings},
                             {{"axis", 0}, {"start", 0}, {"size", steps}});
}

namespace {

ValueId build(Scope& scope, config::Reader& args, std::span<const ValueId> inputs) {
  GraphBuilder& b = scope.builder();
  const Shape shape = b.shape(inputs[0]);
  check_steps(args, shape);
  TableArguments table;
  table.rows = args.require_integer("sequence_length", config::at_least(1));
  table.width = shape.back();
  table.initializer = read_initializer(args, "initializer", "glorot_uniform");
  return ops::broadcast_to(b, add_positions(scope, args, table, shape), shape);
}

}  // namespace

const LayerDef kPositionEmbedding{
    .names = {"PositionEmbedding"}, .build = build, .module = "keras_hub.layers"};

}  // namespace meshwork::layers
