// Whole programs on a GPU: the CPU's numbers within float32, their own bits each time, on one
// device and on several that share the GPU.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <cmath>

#include "cuda/case_runs.h"
#include "support/random_model.h"
#include "support/training.h"

using namespace meshwork;
using namespace meshwork::testing;

namespace {

void check_same(const std::string& text, const std::string& mesh, std::int64_t steps) {
  CAPTURE(mesh);
  CAPTURE(text);
  const Trajectory cpu = train(text, {.mesh = mesh, .steps = steps});
  const auto on_gpu = [&] {
    return train("device: cuda\n" + text, {.mesh = mesh, .steps = steps});
  };
  const Trajectory gpu = on_gpu();
  CHECK(loss_difference(gpu, cpu) < 1e-5);
  CHECK(weight_difference(gpu, cpu) < 1e-4);
  CHECK(on_gpu().digest == gpu.digest);
}

/// A small transformer in floats of 16 bits, which `compile` says how to train.
Trajectory train_narrow(const std::string& precision, const std::string& compile,
                        const std::string& device, const std::string& mesh) {
  const std::string text =
      fmt::format("device: {}\nprecision: {}\ncompile: {}\n", device, precision, compile) + R"(
mesh: {data: 1}
dataset:
  name: t
  format: synthetic
  splits: {train: {x: {normal: [64, 8, 16]}, y: {normal: [64, 8, 16]}}}
model:
  input: [8, 16]
  layers:
    - MultiHeadAttention: {name: m, num_heads: 2, key_dim: 8, inputs: [input, input], use_causal_mask: true}
    - LayerNormalization: {name: n}
    - Dense: {name: d, units: 16, activation: relu}
    - Dense: {name: e, units: 16}
fit: {batch_size: 16}
)";
  return train(text, {.mesh = mesh, .steps = 8});
}

}  // namespace

TEST_CASE("random models train on a GPU as on the CPU") {
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    CAPTURE(seed);
    for (const RandomModel& model :
         {random_model(seed), random_convnet(seed), random_transformer(seed)}) {
      check_same("mesh: {data: 1}\n" + model.text, "", 3);
      check_same(model.layouts + "mesh: {data: 1}\n" + model.text, model.mesh, 3);
    }
  }
}

TEST_CASE("a perceptron with dropout trains on eight devices of one GPU") {
  const std::string text = R"(
mesh: {data: 2, model: 4}
layout_map: {'a/kernel': [null, model], 'b/kernel': [model, null]}
dataset:
  name: t
  format: synthetic
  splits: {train: {x: {integers: [50, 4, 4], below: 256}, y: {integers: [50], below: 5}}}
  x: {scale: 0.00392}
model:
  input: [4, 4]
  layers:
    - Flatten:
    - Dense: {name: a, units: 21, activation: gelu}
    - Dropout: {rate: 0.3}
    - LayerNormalization: {name: n}
    - Dense: {name: b, units: 5}
compile:
  optimizer: {AdamW: {learning_rate: 0.01, weight_decay: 0.1, clipnorm: 1, gradient_accumulation_steps: 2}}
  loss: {SparseCategoricalCrossentropy: {from_logits: true}}
  metrics: [accuracy]
fit: {batch_size: 16}
)";
  for (const char* mesh : {"1x1", "2x1", "2x4"}) check_same(text, mesh, 7);
}

TEST_CASE("bfloat16 trains on a GPU as on the CPU, within its eight digits") {
  const auto on = [](const std::string& device) {
    return train_narrow("mixed_bfloat16", "{optimizer: {SGD: {learning_rate: 0.1}}, loss: mse}",
                        device, "1");
  };
  const Trajectory cpu = on("cpu"), gpu = on("cuda");
  CHECK(loss_difference(gpu, cpu) < 0.01);
  CHECK(on("cuda").digest == gpu.digest);
}

TEST_CASE("float16 trains on a GPU as on the CPU, steps that overflow included") {
  const std::string compile = R"(
  optimizer:
    LossScaleOptimizer:
      inner_optimizer: {SGD: {learning_rate: {CosineDecay: {initial_learning_rate: 0.1, decay_steps: 9}}}}
      initial_scale: 16777216
      dynamic_growth_steps: 2
  loss: mse)";
  const auto on = [&](const std::string& device, const std::string& mesh) {
    return train_narrow("mixed_float16", compile, device, mesh);
  };
  const Trajectory cpu = on("cpu", "1"), gpu = on("cuda", "1");
  CHECK(loss_difference(gpu, cpu) < 0.002);
  CHECK(on("cuda", "1").digest == gpu.digest);
  CHECK(loss_difference(on("cuda", "2"), cpu) < 0.002);
}

TEST_CASE("classes that products are slow with are filled up, which changes no results") {
  const std::string text = R"(
device: cuda
precision: mixed_bfloat16
dataset:
  name: t
  format: synthetic
  splits: {train: {x: {integers: [24, 64], below: 601}, y: {integers: [24, 64], below: 601}}}
model:
  input: {shape: [64], dtype: int32}
  layers:
    - ReversibleEmbedding: {name: tokens, input_dim: 601, output_dim: 16}
    - Dense: {name: hidden, units: 16, activation: relu}
    - use: {layer: tokens, name: logits, reverse: true}
compile:
  optimizer: {Adam: {learning_rate: 0.01}}
  loss: {SparseCategoricalCrossentropy: {from_logits: true}}
  metrics: [accuracy]
fit: {batch_size: 8}
)";
  const auto fill_up = [](Target& target) { target.padded_work = 0; };
  const std::string sharded =
      "strategy: model_parallel\nbatch_axis: data\nlayout_map: {'.*/embeddings': [null, model]}\n";
  const std::string gathered =
      "strategy: model_parallel\nlayout_map: {'.*/(embeddings|kernel)': [data]}\n";
  for (const std::string& layouts :
       {std::string("mesh: {data: 1}\n"), std::string("mesh: {data: 3}\n"),
        sharded + "mesh: {data: 2, model: 2}\n", gathered + "mesh: {data: 2}\n"}) {
    CAPTURE(layouts);
    const auto run = [&](const std::string& more) {
      return train(layouts + text + more, {.steps = 4, .adapt = fill_up});
    };
    const Trajectory filled_up = run(""), plain = run("fusion: {pad_classes: false}\n");
    CHECK(loss_difference(filled_up, plain) < 1e-4);
    CHECK(weight_difference(filled_up, plain) < 0.02);
    // Products of other shapes may be computed by other algorithms: of 2048 tokens a few may have
    // another greatest logit.
    CHECK(std::abs(filled_up.metrics.at("accuracy") - plain.metrics.at("accuracy")) < 0.005);
    CHECK(run("").digest == filled_up.digest);
  }
}

TEST_CASE("packed experts train on a GPU as all of them do on a CPU") {
  const std::string text = R"(
strategy: model_parallel
layout_map: {'.*/experts/.*': [model]}
dataset: {name: t, format: synthetic, splits: {train: {x: {normal: [22, 6, 5]}, y: {normal: [22, 6, 5]}}}}
model:
  input: [6, 5]
  layers: [MixtureOfExperts: {name: mixture, intermediate_dim: 7, num_experts: 5, top_k: 2}]
compile: {optimizer: {SGD: {learning_rate: 0.1}}, loss: mse}
fit: {batch_size: 8}
)";
  const std::string one = "mesh: {data: 1, model: 1}\n";
  const Trajectory whole = train("device: cpu\nfusion: {pack_experts: false}\n" + one + text, {});
  for (const char* mesh : {"1x1", "1x2", "2x1"}) {
    CAPTURE(mesh);
    const Trajectory packed = train("device: cuda\n" + one + text, {.mesh = mesh});
    CHECK(loss_difference(packed, whole) < 1e-5);
    CHECK(weight_difference(packed, whole) < 1e-4);
  }
  const std::string narrow = "device: cuda\nprecision: mixed_bfloat16\n" + one + text;
  CHECK(train(narrow, {}).digest == train(narrow + "fusion: {pack_experts: false}\n", {}).digest);
}

TEST_CASE("weights in parts are gathered ahead on a GPU, and small gradients reduced together") {
  const std::string text = R"(
device: cuda
mesh: {data: 3}
dataset: {name: t, format: synthetic, splits: {train: {x: {normal: [60, 20]}, y: {normal: [60, 7]}}}}
model:
  input: [20]
  layers:
    - Dense: {units: 41, activation: relu}
    - LayerNormalization: {}
    - Dense: {units: 24, activation: gelu}
    - Dense: {units: 7}
compile: {optimizer: {AdamW: {weight_decay: 0.1}}, loss: mse}
fit: {batch_size: 20}
)";
  const auto plainly = [](Target& target) {
    target.prefetch = 0;
    target.fusions.erase("small_gathers");
    target.fusions.erase("small_scatters");
    target.fusions.erase("horizontal");
  };
  for (const std::string layouts : {"strategy: model_parallel\nlayout_map: {'.*': [data]}\n",
                                    "optimizer_layout: {'.*': [data]}\n"}) {
    for (const std::string precision : {"float32", "mixed_bfloat16"}) {
      CAPTURE(layouts);
      CAPTURE(precision);
      const std::string all = layouts + text + "precision: " + precision + "\n";
      const Trajectory plain = train(all, {.steps = 4, .adapt = plainly});
      const Trajectory ahead = train(all, {.steps = 4});
      CHECK(ahead.digest == plain.digest);
      CHECK(ahead.losses == plain.losses);
    }
  }
}

TEST_CASE("columns are added up as passes go, which changes no more than the order of sums") {
  const std::string text = R"(
device: cuda
mesh: {data: 1, model: 1}
layout_map: {'a/kernel': [null, model], 'a/bias': [model]}
dataset:
  name: t
  format: synthetic
  splits: {train: {x: {normal: [48, 5, 20]}, y: {integers: [48], below: 3}}}
model:
  input: [5, 20]
  layers:
    - Dense: {name: a, units: 24, activation: gelu}
    - LayerNormalization: {}
    - Dense: {units: 32, activation: relu}
    - LayerNormalization: {}
    - Flatten: {}
    - Dense: {units: 3}
compile:
  optimizer: {SGD: {learning_rate: 0.1}}
  loss: {SparseCategoricalCrossentropy: {from_logits: true}}
  metrics: [accuracy]
fit: {batch_size: 20}
)";
  for (const std::string precision : {"float32", "mixed_bfloat16"}) {
    for (const char* const mesh : {"1x1", "2x1", "3x1", "1x2"}) {
      CAPTURE(precision);
      CAPTURE(mesh);
      const auto run = [&](std::int64_t columns) {
        const auto adapt = [&](Target& target) {
          target.launch_bytes = 1;
          target.column_sums = columns;
        };
        return train(text + "precision: " + precision, {.mesh = mesh, .steps = 5, .adapt = adapt});
      };
      const Trajectory in_passes = run(100), apart = run(0);
      CHECK(in_passes.digest != apart.digest);
      CHECK(loss_difference(in_passes, apart) < 1e-5);
      CHECK(weight_difference(in_passes, apart) < (precision == "float32" ? 1e-5 : 0.02));
      CHECK(run(100).digest == in_passes.digest);
    }
  }
}

TEST_CASE("TensorFloat-32 trains on a GPU near float32, with its own bits each time") {
  const std::string text = R"(
device: cuda
mesh: {data: 2}
dataset:
  name: t
  format: synthetic
  splits: {train: {x: {normal: [32, 40]}, y: {normal: [32, 12]}}}
model: {input: [40], layers: [Dense: {units: 30, activation: tanh}, Dense: {units: 12}]}
compile: {optimizer: {SGD: {learning_rate: 0.1}}, loss: mse}
fit: {batch_size: 16}
)";
  const Trajectory whole = train(text, {.steps = 4});
  const auto rounded = [&] { return train("tensor_float_32: true\n" + text, {.steps = 4}); };
  const Trajectory first = rounded();
  // Products as small as these cuBLASLt may leave as they are.
  if (has_emulated_cublaslt()) CHECK(loss_difference(first, whole) > 0);
  CHECK(loss_difference(first, whole) < 1e-3);
  CHECK(rounded().digest == first.digest);
}
