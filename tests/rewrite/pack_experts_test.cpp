#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>

#include "rewrite/program.h"

using namespace meshwork;
using namespace meshwork::testing;

namespace {

std::string text_of(const std::string& arguments, const std::string& more = "") {
  return fmt::format(R"(
mesh: {{data: 1, model: 1}}
strategy: model_parallel
layout_map: {{'.*/experts/.*': [model]}}
dataset:
  name: t
  format: synthetic
  splits: {{train: {{x: {{normal: [8, 6, 3]}}, y: {{normal: [8, 6, 3]}}}}}}
model:
  input: [6, 3]
  layers:
    - MixtureOfExperts: {{name: mixture, intermediate_dim: 7, {}}}
compile: {{optimizer: sgd, loss: mse}}
fit: {{batch_size: 8}}
)",
                     arguments) +
         more;
}

/// The extents before that of the hidden units, of all tensors that have these last, in order of
/// the program and each once.
std::vector<Shape> hidden_shapes(const Graph& program) {
  std::vector<Shape> shapes;
  for (const Node& node : program.nodes) {
    const Shape& shape = node.type.shape;
    if (shape.size() == 4 && shape[3] == 7 && std::ranges::count(shapes, shape) == 0) {
      shapes.push_back(shape);
    }
  }
  return shapes;
}

Graph on_one(const std::string& text) { return rewritten(job_of(text, "")); }

}  // namespace

TEST_CASE("hidden units have room for the experts that a step chose") {
  for (const char* activation : {"silu", "sigmoid", "gelu", "relu"}) {
    for (const char* gate : {"true", "false"}) {
      CAPTURE(activation);
      CAPTURE(gate);
      const std::string arguments =
          fmt::format("num_experts: 5, top_k: 2, activation: {}, use_gate: {}", activation, gate);
      const Graph program = on_one(text_of(arguments));
      CHECK(hidden_shapes(program) == std::vector<Shape>{{8, 6, 2, 7}});
      // Of the weights of experts, and of their gradient.
      CHECK(count(program, "pack_chosen") == 1);
      CHECK(count(program, "unpack_chosen") == 1);
      const Graph whole = on_one(text_of(arguments, "fusion: {pack_experts: false}\n"));
      CHECK(hidden_shapes(whole) == std::vector<Shape>{{8, 6, 5, 7}});
      CHECK(count(whole, "pack_chosen") + count(whole, "unpack_chosen") == 0);
    }
  }
}

TEST_CASE("a device packs what its own experts were chosen for") {
  const std::string text = text_of("num_experts: 5, top_k: 2");
  CHECK(hidden_shapes(rewritten(job_of(text, "1x2"))) == std::vector<Shape>{{8, 6, 2, 7}});
  CHECK(hidden_shapes(rewritten(job_of(text, "2x5"))) == std::vector<Shape>{{4, 6, 1, 7}});
}

TEST_CASE("all devices have the same nodes, however many experts they have") {
  const Job job = job_of(text_of("num_experts: 5, top_k: 2"), "1x4");
  const GlobalProgram compiled =
      compile(job.config, job.signature, job.mesh, job.target, ProgramKind::kTrain, 8);
  const auto ops = [&](int device) {
    std::vector<std::string_view> names;
    for (const Node& node : compile_for_device(compiled, job.mesh, device, {}).program.nodes) {
      names.push_back(node.op->name);
    }
    return names;
  };
  CHECK(ops(0) == ops(3));  // two experts, and one
}

TEST_CASE("16 bits and what is computed again are packed, too") {
  for (const char* more : {"precision: mixed_bfloat16\n", "rematerialize: full\n"}) {
    CAPTURE(more);
    const Graph program = on_one(text_of("num_experts: 5, top_k: 2", more));
    CHECK(hidden_shapes(program) == std::vector<Shape>{{8, 6, 2, 7}});
  }
}
