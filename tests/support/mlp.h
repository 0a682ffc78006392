#pragma once

#include "autodiff/gradients.h"
#include "graph/builder.h"
#include "ops/ops.h"

namespace meshwork::testing {

/// A two-layer perceptron with SGD, written out in ops: the smallest program that has everything.
/// x [batch, in] w1 [in, hidden] relu w2 [hidden, out], loss mean((y - t)^2).
struct Mlp {
  Graph graph;
  ValueId w1 = kNoValue;
  ValueId w2 = kNoValue;
};

inline ValueId leaf(GraphBuilder& b, const OpDef& op, const std::string& name, Shape shape) {
  const char* key = &op == &ops::kVariable ? "path" : "name";
  return b.add(op, {}, {{key, name}, {"dtype", "float32"}, {"shape", std::move(shape)}});
}

inline ValueId variable(GraphBuilder& b, const std::string& path, Shape shape) {
  const ValueId value = leaf(b, ops::kVariable, path, shape);
  b.graph().variables.push_back({.value = value,
                                 .path = path,
                                 .trainable = true,
                                 .slot_of = {},
                                 .init = &ops::kRandomUniform,
                                 .init_attrs = {{"key", std::int64_t{1}},
                                                {"low", -0.1},
                                                {"high", 0.1},
                                                {"dtype", "float32"},
                                                {"shape", std::move(shape)}}});
  return value;
}

inline Mlp make_mlp(std::int64_t batch, std::int64_t in, std::int64_t hidden, std::int64_t out) {
  Mlp mlp;
  GraphBuilder b(mlp.graph);
  const ValueId x = leaf(b, ops::kInput, "x", {batch, in});
  const ValueId t = leaf(b, ops::kInput, "y", {batch, out});
  b.set_path("d1");
  mlp.w1 = variable(b, "d1/kernel", {in, hidden});
  const ValueId b1 = variable(b, "d1/bias", {hidden});
  const ValueId z = ops::add(b, ops::einsum(b, x, mlp.w1, "m k, k n -> m n"), b1);
  const ValueId h = b.add(ops::kRelu, {z});
  b.graph().layer_outputs.push_back({"d1/output", h});
  b.set_path("d2");
  mlp.w2 = variable(b, "d2/kernel", {hidden, out});
  const ValueId y = ops::einsum(b, h, mlp.w2, "m k, k n -> m n");
  b.graph().layer_outputs.push_back({"d2/output", y});
  b.set_path("loss");
  const ValueId error = ops::subtract(b, y, t);
  const ValueId loss = ops::reduce_mean(b, ops::multiply(b, error, error), {0, 1}, false);
  mlp.graph.outputs.push_back({"loss", loss});

  const std::vector<ValueId> weights{mlp.w1, b1, mlp.w2};
  const auto found = gradients(b, loss, weights);
  b.set_phase(Phase::kUpdate);
  b.set_path("sgd");
  for (std::size_t i = 0; i < weights.size(); ++i) {
    mlp.graph.gradients.push_back({weights[i], found[i]});
    mlp.graph.updates.push_back(
        {weights[i], ops::subtract(b, weights[i], ops::scale(b, found[i], 0.1))});
  }
  mlp.graph = prune(mlp.graph);
  return mlp;
}

}  // namespace meshwork::testing
