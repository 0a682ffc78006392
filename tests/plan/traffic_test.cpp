// How much a step sends, by collective and by phase.
#include <doctest/doctest.h>

#include <algorithm>

#include "compile.h"
#include "support/sent.h"
#include "support/training.h"

using namespace meshwork;
using namespace meshwork::testing;

namespace {

const std::string kColumnRow = R"(
strategy: model_parallel
layout_map:
  up/kernel: [null, model]
  up/bias: [model]
  down/kernel: [model, null]
)";

const std::string kPerceptron = R"(
dataset: {name: t, format: synthetic, splits: {train: {x: {normal: [64, 30]}, y: {normal: [64, 5]}}}}
model:
  input: [30]
  layers:
    - Dense: {name: first, units: 24, activation: relu}
    - Dense: {name: up, units: 40, activation: relu}
    - Dense: {name: down, units: 24}
    - Dense: {name: last, units: 5}
compile: {optimizer: adam, loss: mse, metrics: [mae]}
fit: {batch_size: 64}
)";

Plan plan_of(const std::string& text, const std::string& mesh) {
  return training_plan(text, mesh, 0);
}

}  // namespace

TEST_CASE("data parallelism reduces every byte of the gradients once") {
  for (const int devices : {2, 3, 4, 8}) {
    CAPTURE(devices);
    const Plan plan = plan_of("mesh: {data: 1}\n" + kPerceptron, "data=" + std::to_string(devices));
    const auto sent = sent_by(plan);
    CHECK(
        std::all_of(sent.begin(), sent.end(), [](const Sent& s) { return s.op == "all_reduce"; }));
    CHECK(tensors(sent).size() == 8);  // a kernel and a bias in each of four layers
    CHECK(elements(tensors(sent)) == parameters(plan));
    CHECK(std::all_of(sent.begin(), sent.end(),
                      [](const Sent& s) { return s.phase != Phase::kUpdate || s.elements == 1; }));

    const auto total = traffic(plan);
    REQUIRE(total.size() == 1);
    const auto scalars = static_cast<double>(sent.size() - tensors(sent).size());
    const double expected =
        2.0 * (devices - 1) / devices * 4.0 * (static_cast<double>(parameters(plan)) + scalars);
    CHECK(total[0].bytes == doctest::Approx(expected).epsilon(1e-12));
    // All of it is small here and goes out with the loss, in few calls.
    CHECK(total[0].calls <= 2);
  }
}

TEST_CASE("weights that are kept whole are updated whole, though layers read parts of them") {
  for (const char* layouts :
       {"{up/kernel: [null, model]}", "{up/kernel: [null, model], up/bias: [model]}"}) {
    CAPTURE(layouts);
    const std::string text =
        std::string("strategy: model_parallel\nlayout_map: ") + layouts + "\n" + kPerceptron;
    const auto sent = tensors(sent_by(plan_of("mesh: {data: 1, model: 1}\n" + text, "2x2")));
    CHECK(std::ranges::none_of(sent, [](const Sent& s) { return s.phase == Phase::kUpdate; }));
  }
}

TEST_CASE("a column kernel followed by a row kernel costs one all-reduce forward, one backward") {
  for (const char* mesh : {"data=1,model=4", "data=2,model=2", "data=1,model=3"}) {
    CAPTURE(mesh);
    const Plan plan = plan_of("mesh: {data: 1, model: 1}\n" + kColumnRow + kPerceptron, mesh);
    std::vector<Sent> forward;
    std::vector<Sent> backward;
    for (const Sent& s : tensors(sent_by(plan))) {
      const bool along_model = s.members.size() < 2 || s.members[1] - s.members[0] == 1;
      if (!along_model) continue;  // gradients over the data axis
      (s.phase == Phase::kForward ? forward : backward).push_back(s);
    }
    REQUIRE(forward.size() == 1);
    REQUIRE(backward.size() == 1);
    CHECK(forward[0].op == "all_reduce");
    CHECK(backward[0].op == "all_reduce");
  }
}

TEST_CASE("weights sharded over the batch axis are gathered twice and their gradients scattered") {
  const std::string layouts = "strategy: model_parallel\nlayout_map: {'.*kernel': [data, null]}\n";
  const std::string wide = R"(
dataset: {name: t, format: synthetic, splits: {train: {x: {normal: [512, 8]}, y: {normal: [512, 8]}}}}
model:
  input: [8]
  layers:
    - Dense: {name: a, units: 8, activation: relu}
    - Dense: {name: b, units: 8}
compile: {optimizer: sgd, loss: mse}
fit: {batch_size: 512}
)";
  const Job job = job_of("mesh: {data: 1}\n" + layouts + wide, "4");
  const Plan plan = compile_for_device(
      compile(job.config, job.signature, job.mesh, job.target, ProgramKind::kTrain, 512), job.mesh,
      0, {});
  const auto sent = tensors(sent_by(plan));
  const auto count = [&](const std::string& op, Phase phase) {
    return std::count_if(sent.begin(), sent.end(),
                         [&](const Sent& s) { return s.op == op && s.phase == phase; });
  };
  CHECK(count("all_gather", Phase::kForward) == 2);
  CHECK(count("all_gather", Phase::kBackward) == 1);  // nobody wants the gradient of x
  CHECK(count("reduce_scatter", Phase::kBackward) == 2);
  CHECK(count("all_reduce", Phase::kBackward) == 2);  // the biases
  CHECK(sent.size() == 7);
}

TEST_CASE("a value is reduced once, however many want it") {
  // Clipping by the global norm and Adam's two moments all read the gradient.
  const std::string text = "mesh: {data: 1}\n" + kPerceptron;
  const std::string clipped = std::string(text).replace(
      text.find("optimizer: adam"), 15, "optimizer: {Adam: {global_clipnorm: 1.0}}");
  const Plan plan = plan_of(clipped, "data=4");
  CHECK(elements(tensors(sent_by(plan))) == parameters(plan));
}

TEST_CASE("gradients go out together though norms of parts of them are reduced again") {
  const std::string text = "mesh: {data: 1, model: 1}\n" + kColumnRow + kPerceptron;
  const std::string clipped = std::string(text).replace(
      text.find("optimizer: adam"), 15, "optimizer: {Adam: {global_clipnorm: 1.0}}");
  const auto calls = [](const std::string& config) {
    return traffic(plan_of(config, "data=2,model=2"))[0].calls;
  };
  CHECK(calls(clipped) == calls(text) + 1);  // that of the norms
}

TEST_CASE("optimizer state sharded over the data axis scatters gradients and gathers weights") {
  const std::string layouts = "optimizer_layout: {'.*kernel': [data, null]}\n";
  const Plan plan = plan_of("mesh: {data: 1}\n" + layouts + kPerceptron, "data=2");
  const auto sent = tensors(sent_by(plan));
  const auto count = [&](const std::string& op) {
    return std::count_if(sent.begin(), sent.end(), [&](const Sent& s) { return s.op == op; });
  };
  CHECK(count("reduce_scatter") == 4);
  CHECK(count("all_gather") == 4);
  CHECK(count("all_reduce") == 4);  // the biases
}

TEST_CASE(
    "behind a table whose columns lie over the axis of the batch, the batch is split as before") {
  const std::string text = R"(
mesh: {data: 1}
strategy: model_parallel
layout_map: {tokens/embeddings: [null, data], '.*/kernel': [data]}
dataset: {name: t, format: synthetic, splits: {train: {x: {integers: [64, 32], below: 5000}, y: {normal: [64, 32, 16]}}}}
model:
  input: {shape: [32], dtype: int32}
  layers:
    - Embedding: {name: tokens, input_dim: 5000, output_dim: 64}
    - Dense: {name: first, units: 64, activation: relu}
    - Dense: {name: last, units: 16}
compile: {optimizer: sgd, loss: mse}
fit: {batch_size: 64}
)";
  std::vector<std::string> forward;
  for (const Sent& s : tensors(sent_by(plan_of(text, "data=4")))) {
    if (s.phase == Phase::kForward) forward.push_back(s.op + " for " + s.path);
  }
  // Numbers of tokens, then columns for samples; kernels.
  CHECK(forward == std::vector<std::string>{"all_gather for tokens", "all_to_all for tokens",
                                            "all_gather for first", "all_gather for last"});
}

TEST_CASE("the greatest logits over split classes are found once, for the loss and the accuracy") {
  const std::string text = R"(
mesh: {data: 1, model: 1}
strategy: model_parallel
layout_map: {logits/kernel: [null, model]}
dataset: {name: t, format: synthetic, splits: {train: {x: {normal: [64, 30]}, y: {integers: [64], below: 12}}}}
model: {input: [30], layers: [Dense: {name: logits, units: 12}]}
compile:
  optimizer: sgd
  loss: {SparseCategoricalCrossentropy: {from_logits: true}}
  metrics: [accuracy]
fit: {batch_size: 64}
)";
  const auto sent = tensors(sent_by(plan_of(text, "data=1,model=4")));
  const auto count = [&](const std::string& path) {
    return std::ranges::count_if(sent, [&](const Sent& s) { return s.path == path; });
  };
  CHECK(count("loss") == 3);      // the greatest, the sum, the logit of the label
  CHECK(count("accuracy") == 1);  // the first place of the greatest
}
