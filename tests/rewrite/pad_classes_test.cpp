#include <doctest/doctest.h>
#include <fmt/format.h>

#include "graph/views.h"
#include "rewrite/program.h"

using namespace meshwork;
using namespace meshwork::testing;

namespace {

struct Model {
  std::string precision = "mixed_bfloat16";
  int tokens = 601;
  int context = 64;  ///< of batches of 8
  std::string logits = "use: {layer: tokens, name: logits, reverse: true}";
  std::string more = "mesh: {data: 1}\n";
};

std::string text_of(const Model& model) {
  return fmt::format(R"(
precision: {0}
dataset:
  name: t
  format: synthetic
  splits: {{train: {{x: {{integers: [24, {2}], below: {1}}}, y: {{integers: [24, {2}], below: {1}}}}}}}
model:
  input: {{shape: [{2}], dtype: int32}}
  layers:
    - ReversibleEmbedding: {{name: tokens, input_dim: {1}, output_dim: 16}}
    - {3}
compile:
  optimizer: adam
  loss: {{SparseCategoricalCrossentropy: {{from_logits: true}}}}
  metrics: [accuracy]
fit: {{batch_size: 8}}
)",
                     model.precision, model.tokens, model.context, model.logits) +
         model.more;
}

/// For a device whose products want lines of 16 bytes.
Graph rewritten_for_lines(const Model& model, std::int64_t memory_line = 0) {
  Job job = job_of(text_of(model), "");
  job.target.product_line = 16;
  job.target.memory_line = memory_line;
  job.target.fusions.insert("pad_classes");
  job.target.kernels.insert("einsum_bias");
  return rewritten(job);
}

bool is_padded(const Model& model) { return count(rewritten_for_lines(model), "pad") > 0; }

}  // namespace

TEST_CASE("logits of 601 classes are computed as 608, their gradients too") {
  const Graph program = rewritten_for_lines({});
  CHECK(count(program, "pad") == 1);  // for the logits, and again for the gradient of features
  for (const ValueId id : program.ids()) {
    const Node& node = program.node(id);
    CAPTURE(node.op->name);
    if (node.op->name == "einsum_bias" || node.op->name == "crossentropy_gradient") {
      CHECK(node.type.shape == Shape{8, 64, 608});
    }
    if (node.op->name == "slice") {
      CHECK(node.type.shape == Shape{601, 16});
      CHECK(is_view(program, id));
    }
  }
  CHECK(count(program, "einsum_bias") == 1);
  CHECK(count(program, "slice") == 1);
}

TEST_CASE("classes are filled up to whole lines of memory, unless products are fast anyway") {
  const Graph program = rewritten_for_lines({}, 128);
  CHECK(count(program, "crossentropy_gradient") == 1);
  for (const ValueId id : program.ids()) {
    if (program.node(id).op->name == "crossentropy_gradient") {
      CHECK(program.type(id).shape == Shape{8, 64, 640});
    }
  }
  CHECK(count(rewritten_for_lines({.tokens = 600}, 128), "pad") == 0);
}

TEST_CASE("logits of 16 bits are filled up, too") {
  const Graph program =
      rewritten_for_lines({.logits = "Dense: {name: logits, units: 601, use_bias: false}"});
  CHECK(count(program, "pad") == 1);
  for (const ValueId id : program.ids()) {
    if (program.node(id).op->name == "crossentropy") {
      CHECK(program.type(program.node(id).inputs[0]) == TensorType{DType::kBFloat16, {8, 64, 608}});
    }
  }
}

TEST_CASE("classes are filled up only where that pays, and nothing else reads their logits") {
  CHECK(is_padded({}));
  CHECK_FALSE(is_padded({.tokens = 600}));
  CHECK_FALSE(is_padded({.context = 63}));  // fewer than 512 rows
  CHECK_FALSE(is_padded({.precision = "float32"}));
  CHECK_FALSE(is_padded({.logits = "Dense: {name: logits, units: 601}"}));  // a bias is added
  CHECK_FALSE(is_padded({.more = "mesh: {data: 1}\nfusion: {pad_classes: false}\n"}));
  const std::string sharded = "strategy: model_parallel\nmesh: {data: 1, model: 2}\nlayout_map: ";
  CHECK_FALSE(is_padded({.more = sharded + "{'.*/embeddings': [model]}\n"}));
  CHECK(is_padded({.more = "mesh: {data: 2}\n"}));
  CHECK(count(rewritten(text_of({})), "pad") == 0);  // a CPU does not ask for it
}
