// What the backward pass computes again: the same bits, less memory, nothing sent twice.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <iterator>

#include "base/error.h"
#include "compile.h"
#include "support/dice.h"
#include "support/patterns.h"
#include "support/random_model.h"
#include "support/sent.h"
#include "support/training.h"

using namespace meshwork;
using namespace meshwork::testing;

namespace {

/// Blocks of convolutions, batch normalization and dropout, with a shortcut around each.
const std::string kResidual = R"(
dataset:
  name: t
  format: synthetic
  splits: {train: {x: {normal: [13, 9, 8, 3]}, y: {integers: [13], below: 4}}}
blocks:
  residual:
    layers:
      - Conv2D: {name: first, filters: 8, kernel_size: 3, padding: same, use_bias: false}
      - BatchNormalization: {name: norm}
      - ReLU: {name: active}
      - Dropout: {rate: 0.3}
      - Conv2D: {name: second, filters: 8, kernel_size: 3, padding: same, activation: tanh}
      - Add: {name: sum, inputs: [input, second]}
      - ReLU: {name: out}
model:
  input: [9, 8, 3]
  layers:
    - Conv2D: {name: stem, filters: 8, kernel_size: 3, padding: same}
    - residual: {name: block, repeat: 6, rematerialize: false}
    - GlobalAveragePooling2D:
    - Dense: {name: logits, units: 4}
compile:
  optimizer: {Adam: {epsilon: 0.001}}
  loss: {SparseCategoricalCrossentropy: {from_logits: true}}
  metrics: [accuracy]
fit: {batch_size: 6}
)";

const std::string kTiles = R"(
strategy: model_parallel
layout_map: {input/output: [data, height, null, null]}
)";

std::string by_hand(std::string text) {
  const std::string key = "rematerialize: ";
  return text.replace(text.find(key) + key.size(), 5, "true");
}

std::int64_t step_bytes(const std::string& text, const std::string& mesh, int device = 0) {
  const Plan plan = training_plan(text, mesh, device);
  return plan.arena_bytes - plan.variable_bytes;
}

void check_same_bits(const std::string& text, const std::string& again, const std::string& mesh) {
  CAPTURE(again);
  CAPTURE(mesh);
  const Trajectory kept = train(text, {.mesh = mesh, .steps = 2});
  const Trajectory repeated = train(again, {.mesh = mesh, .steps = 2});
  CHECK(kept.losses == repeated.losses);
  CHECK(kept.metrics == repeated.metrics);
  CHECK(kept.digest == repeated.digest);
}

GlobalProgram compiled(const std::string& text, const std::string& mesh) {
  const Job job = job_of(text, mesh);
  return compile(job.config, job.signature, job.mesh, job.target, ProgramKind::kTrain,
                 job.config.fit.batch_size);
}

double repeated_flops(const GlobalProgram& program) {
  double sum = 0;
  for (const SegmentCost& cost : program.costs) sum += cost.flops;
  return sum;
}

/// A configuration that ships with Meshwork, on data of its shape that is made up.
std::string shipped(const std::string& name) {
  std::ifstream file("configs/" + name + ".yaml");
  std::string text{std::istreambuf_iterator<char>(file), {}};
  REQUIRE(!text.empty());
  const std::string synthetic =
      "dataset: {name: t, format: synthetic, splits: {train: {x: {normal: [40, 28, 28]}, y: "
      "{integers: [40], below: 10}}}}\n";
  text = replace_all(text, "\ndataset: (\\{name: |fashion_)?mnist[^\n]*\n", "\n" + synthetic);
  text = replace_all(text, "\ndataset:\n  name: fashion_mnist\n(  .*\n)*", "\n" + synthetic);
  text = replace_all(text, "validation: true", "validation: false");
  return replace_all(text, "batch_size: \\d+", "batch_size: 16");
}

}  // namespace

TEST_CASE("a block that is computed again gives the same bits and takes less memory") {
  const std::string text = "mesh: {data: 1, height: 1}\n" + kResidual;
  for (const char* mesh : {"1x1", "3x1", "2x2"}) {
    for (const std::string& layouts : {std::string(), kTiles}) {
      check_same_bits(text + layouts, by_hand(text) + layouts, mesh);
      CHECK(step_bytes(by_hand(text) + layouts, mesh) < 0.8 * step_bytes(text + layouts, mesh));
    }
  }
}

TEST_CASE("what is computed again in bfloat16 is rounded as it was") {
  const std::string text = "mesh: {data: 1, height: 1}\nprecision: mixed_bfloat16\n" + kResidual;
  for (const char* mesh : {"1x1", "2x2"}) {
    check_same_bits(text, by_hand(text), mesh);
    check_same_bits(text + kTiles, text + kTiles + "rematerialize: full\n", mesh);
  }
}

TEST_CASE("every mode gives the same bits; larger segments keep less") {
  const std::string text = "mesh: {data: 1, height: 1}\n" + kResidual;
  for (const char* mode :
       {"full", "activations", "true", "{mode: larger_than, output_size_threshold: 500}",
        "{mode: list_of_layers, layer_names: [block, 'block_[234]', logits]}"}) {
    check_same_bits(text, text + "rematerialize: " + mode + "\n", "2x1");
  }
  const std::int64_t full = step_bytes(text + "rematerialize: full\n", "1x1");
  CHECK(full <= step_bytes(by_hand(text), "1x1"));
  CHECK(step_bytes(text + "rematerialize: false\n", "1x1") == step_bytes(text, "1x1"));
  const std::string some = "rematerialize: {mode: list_of_layers, layer_names: ['block_[234]']}\n";
  CHECK(step_bytes(text + some, "1x1") < step_bytes(text, "1x1"));
  CHECK(step_bytes(text + some, "1x1") > full);
}

TEST_CASE("nothing is sent twice but weights that are gathered for their use") {
  const auto sent = [](const std::string& text, const char* mesh, const char* op) {
    const auto all = sent_by(training_plan(text, mesh, 0));
    return std::count_if(all.begin(), all.end(), [&](const Sent& s) { return s.op == op; });
  };
  const std::string text = "mesh: {data: 1, height: 1}\n" + kResidual;
  for (const std::string& layouts :
       {std::string(), kTiles,
        std::string("strategy: model_parallel\nlayout_map: {'.*first/kernel': [null, null, null, "
                    "height], '.*second/kernel': [null, null, height, null]}\n")}) {
    for (const char* op : {"all_reduce", "all_to_all", "all_gather", "reduce_scatter"}) {
      CAPTURE(op);
      CHECK(sent(text + layouts, "2x2", op) == sent(by_hand(text) + layouts, "2x2", op));
    }
  }
}

TEST_CASE("only layers whose gradients need it are computed again") {
  const GlobalProgram program = compiled(by_hand("mesh: {data: 1}\n" + kResidual), "");
  REQUIRE(program.segments.size() == 6);
  for (const SegmentCost& cost : program.costs) {
    CHECK(cost.values > 5);
    CHECK(cost.bytes > 0);
    // Two convolutions of 6 images, of 2 x 9 x 8 x 8 operations per pixel, and little else.
    CHECK(cost.flops > 6.0 * 72 * 2 * 9 * 8 * 8);
    CHECK(cost.flops < 2.5 * 6 * 72 * 2 * 9 * 8 * 8);
  }
  const auto light = compiled("mesh: {data: 1}\nrematerialize: activations\n" + kResidual, "");
  CHECK(repeated_flops(light) < 0.1 * repeated_flops(program));
}

TEST_CASE("random models of all kinds: the same bits, whatever is computed again") {
  for (std::uint64_t seed = 1; seed <= 30; ++seed) {
    for (RandomModel (*make)(std::uint64_t) : {random_model, random_convnet, random_transformer}) {
      const RandomModel model = make(seed);
      Dice dice(seed);
      const std::vector<std::string> modes{
          "full", "activations", "{mode: list_of_layers, layer_names: ['.*[1357]']}",
          fmt::format("{{mode: larger_than, output_size_threshold: {}}}", dice.below(60))};
      CAPTURE(seed);
      const std::string text = model.layouts + "mesh: {data: 1}\n" + model.text;
      std::string again = text + "rematerialize: " + dice.one_of(modes) + "\n";
      // A pattern that this model has no layer for is an error, and no case.
      if (again.find("list_of") != std::string::npos && !has_match(text, "name: \\w*[1357][,}]")) {
        again = text + "rematerialize: full\n";
      }
      check_same_bits(text, again, model.mesh);
    }
  }
}

TEST_CASE("every configuration that ships trains to the same bits") {
  for (const char* name : {"fashion_mnist", "keras_guide", "dtensor_mnist", "dtensor_mnist_tuned",
                           "jax_convnet", "jax_convnet_tuned", "resnet", "tiles", "uneven"}) {
    CAPTURE(name);
    const std::string text = shipped(name);
    for (const char* mode : {"full", "activations"}) {
      check_same_bits(text, text + "rematerialize: " + mode + "\n", "");
    }
  }
}

TEST_CASE("a memory limit is met on every device, with as little repeated as it takes") {
  const std::string text = "mesh: {data: 1, height: 1}\n" + kResidual;
  for (const auto& [layouts, mesh] : {std::pair{std::string(), "1x1"}, std::pair{kTiles, "2x2"}}) {
    const Job job = job_of(text + layouts, mesh);
    const auto most = [&](const GlobalProgram& program) {
      std::int64_t bytes = 0;
      for (int device = 0; device < job.mesh.num_devices(); ++device) {
        bytes = std::max(bytes, compile_for_device(program, job.mesh, device, {}).arena_bytes);
      }
      return bytes;
    };
    const std::int64_t whole = most(compiled(text + layouts, mesh));
    double before = 0;
    for (const int percent : {100, 90, 85}) {
      CAPTURE(percent);
      const std::int64_t limit = whole * percent / 100;
      const std::string limited = text + layouts + fmt::format("memory_limit: {}\n", limit);
      const GlobalProgram program = compiled(limited, mesh);
      CHECK(most(program) <= limit);
      const double flops = repeated_flops(program);
      CHECK(flops >= before);
      CHECK((percent == 100) == (flops == 0));
      before = flops;
      if (percent == 85) check_same_bits(text + layouts, limited, mesh);
    }
  }
}

TEST_CASE("a limit that nothing meets says what the smallest plan is made of") {
  const std::string text =
      "mesh: {data: 1}\nmemory_limit: 20 KiB\n" + kResidual + "    # the end\n";
  const auto message = [](const std::string& limited) {
    try {
      compiled(limited, "");
    } catch (const Error& error) {
      CHECK(error.code() == ExitCode::kConfiguration);
      return std::string(error.what());
    }
    return std::string();
  };
  const std::string said = message(text);
  CAPTURE(said);
  CHECK(matches(said,
                ".*:2:15: memory_limit is 20480 bytes, but a training step with a batch of 6 takes "
                "at least [0-9]+ on device 0 of the mesh .data=1.: [0-9]+ for weights, [0-9]+ for "
                "the state of the "
                "optimizer and [0-9]+ for the step; lower fit.batch_size .*"));
  // What it names as the least is enough, and one byte less is not.
  const std::vector<std::string> least = first_match(said, "at least ([0-9]+)");
  REQUIRE(!least.empty());
  const std::int64_t bytes = std::stoll(least[1]);
  const auto limited = [&](std::int64_t limit) {
    return "mesh: {data: 1}\nmemory_limit: " + std::to_string(limit) + kResidual;
  };
  CHECK(message(limited(bytes)).empty());
  CHECK(!message(limited(bytes - 1)).empty());
}

TEST_CASE("a program that has nothing to compute again is held to the limit as well") {
  const std::string text = "mesh: {data: 1}\nmemory_limit: 4 KiB\n" + kResidual;
  CHECK_THROWS_WITH_AS(train(text, {.steps = 1}), doctest::Contains("memory_limit is 4096 bytes"),
                       Error);
}
