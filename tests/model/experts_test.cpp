// MixtureOfExperts: its variables, what does not fit, and slots; its numbers where no expert is
// full: keras_calls_test.cpp
#include <doctest/doctest.h>

#include "backend/backend.h"
#include "model/build.h"
#include "support/interpreter.h"

using namespace meshwork;

namespace {

constexpr std::int64_t kSteps = 6, kWidth = 3;

std::string model_of(const std::string& arguments, const std::string& before = "") {
  return "model: {input: [6, 3], layers: [" + before +
         "MixtureOfExperts: {name: m, num_experts: 4, "
         "intermediate_dim: 5, " +
         arguments + "}]}\ncompile: {loss: mse}\n";
}

/// Samples of rows that do not repeat themselves soon.
HostTensor samples(std::int64_t batch) {
  HostTensor x = host_tensor({DType::kFloat32, {batch, kSteps, kWidth}});
  int i = 0;
  for (float& value : x.as<float>()) value = static_cast<float>(i++ * 29 % 17 - 8) / 5;
  return x;
}

/// Samples of which each has one row again and again.
HostTensor alike(std::int64_t batch) {
  HostTensor x = samples(batch);
  for (std::size_t i = 0; i < x.as<float>().size(); ++i) {
    x.as<float>()[i] = x.as<float>()[i / 18 * 18 + i % 3];
  }
  return x;
}

/// What the model gives in training, or where it predicts.
HostTensor output_of(const std::string& text, Mode mode, const HostTensor& x) {
  const Graph graph = build(text, mode, x.type.shape[0], {{"label", DType::kFloat32, {6, 3}}});
  const auto backend = make_reference_backend();
  Interpreter run(graph, *backend);
  run.initialize();
  run.feed("input", x);
  run.run();
  for (const NamedValue& output : graph.layer_outputs) {
    if (output.name == "prediction") return run.read(output.value);
  }
  return {};
}

/// The same rows where `kept`, else zeros.
HostTensor rows_where(HostTensor y, const std::function<bool(std::size_t step)>& kept) {
  for (std::size_t i = 0; i < y.as<float>().size(); ++i) {
    if (!kept(i / kWidth % kSteps)) y.as<float>()[i] = 0;
  }
  return y;
}

}  // namespace

TEST_CASE("experts have a kernel together for each of their products") {
  const Graph graph = build(model_of(""));
  CHECK(variable_paths(graph) ==
        std::vector<std::string>{"m/router/kernel", "m/experts/gate/kernel", "m/experts/up/kernel",
                                 "m/experts/down/kernel"});
  CHECK(graph.type(graph.variables[1].value).shape == Shape{4, 3, 5});
  CHECK(graph.type(graph.variables[3].value).shape == Shape{4, 5, 3});
  CHECK(
      variable_paths(build(model_of("use_gate: false"))) ==
      std::vector<std::string>{"m/router/kernel", "m/experts/up/kernel", "m/experts/down/kernel"});
}

TEST_CASE("experts with slots, in training, have their variables in the order of all programs") {
  const std::string text = model_of("capacity_factor: 1");
  CHECK(variable_paths(build(text, Mode::kTrain, 4, {{"label", DType::kFloat32, {6, 3}}})) ==
        variable_paths(build(text)));
}

TEST_CASE("the kernels of experts begin as those of so many dense layers") {
  const std::string text =
      "model: {input: [6, 30], layers: [MixtureOfExperts: {name: m, num_experts: 50, "
      "intermediate_dim: 40}]}";
  const Graph graph = build(text);
  const auto backend = make_reference_backend();
  Interpreter run(graph, *backend);
  run.initialize();
  const HostTensor up = run.read("m/experts/up/kernel");
  const double limit = std::sqrt(6.0 / (30 + 40));
  double greatest = 0;
  for (const float weight : up.as<float>()) greatest = std::max(greatest, std::abs(double{weight}));
  CHECK(greatest <= limit);
  CHECK(greatest > 0.99 * limit);
}

TEST_CASE("arguments of experts that do not fit") {
  CHECK(build_error("model:\n  input: [5]\n  layers: [MixtureOfExperts: {num_experts: 2, "
                    "intermediate_dim: 3}]\n") ==
        "c.yaml:3:30: layer 'mixture_of_experts' (MixtureOfExperts) needs samples [steps, "
        "features], not [5]; put a Reshape before it");
  CHECK(build_error(model_of("top_k: 5"))
            .ends_with("layer 'm' (MixtureOfExperts): top_k is 5, but there are only 4 experts"));
  CHECK(build_error(model_of("capacity_factor: 0")).find("capacity_factor") != std::string::npos);
  CHECK(build_error(model_of("top_kk: 1")).find("nearest: 'top_k'") != std::string::npos);
}

TEST_CASE("slots give what all experts give where none is full") {
  const HostTensor x = samples(4);
  for (const std::string keys : {"top_k: 1", "top_k: 2", "top_k: 2, norm_top_k_prob: false"}) {
    CAPTURE(keys);
    // One slot less than there are positions.
    const double factor = 5.0 * 4 / (6 * (keys[7] - '0')) - 0.01;
    const std::string slots = model_of(keys + fmt::format(", capacity_factor: {}", factor));
    const HostTensor all = output_of(model_of(keys), Mode::kTrain, x);
    CHECK(difference(output_of(slots, Mode::kTrain, x), all, 1e-5) == "");
    CHECK(difference(output_of(slots, Mode::kPredict, x), all, 1e-5) == "");
  }
}

TEST_CASE("of positions that all choose one expert the first ones have slots, in training") {
  const HostTensor x = alike(3);
  const HostTensor all = output_of(model_of("top_k: 1"), Mode::kTrain, x);
  const std::string two = model_of("top_k: 1, capacity_factor: 1.2");  // 1.2 * 6 / 4 slots
  const auto first_two = [](std::size_t step) { return step < 2; };
  CHECK(difference(output_of(two, Mode::kTrain, x), rows_where(all, first_two), 1e-5) == "");
  CHECK(difference(output_of(two, Mode::kPredict, x), all, 1e-5) == "");
}

TEST_CASE("positions that are padding take no slots") {
  HostTensor x = alike(3);
  for (std::size_t i = 0; i < x.as<float>().size(); ++i) {
    if (i / kWidth % kSteps < 3) x.as<float>()[i] = 9;
  }
  const std::string masking = "Masking: {mask_value: 9}, ";
  const HostTensor all = output_of(model_of("top_k: 1"), Mode::kTrain, x);
  const std::string two = model_of("top_k: 1, capacity_factor: 1.2", masking);
  const auto next_two = [](std::size_t step) { return step == 3 || step == 4; };
  CHECK(difference(output_of(two, Mode::kTrain, x), rows_where(all, next_two), 1e-5) == "");
}

TEST_CASE("the loss of balance is added in training alone") {
  const auto nodes = [](const std::string& keys, Mode mode) {
    return build(model_of(keys), mode, 4, {{"label", DType::kFloat32, {6, 3}}}).nodes.size();
  };
  const std::string off = "router_aux_loss_coefficient: 0";
  CHECK(nodes("", Mode::kTrain) > nodes(off, Mode::kTrain));
  CHECK(nodes("", Mode::kEvaluate) == nodes(off, Mode::kEvaluate));
}
