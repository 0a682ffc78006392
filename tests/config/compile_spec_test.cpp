// Losses, weights, metrics and labels of several outputs.
#include <doctest/doctest.h>

#include "config/config_text.h"

using namespace meshwork::config;

namespace {

const std::string kTwo = R"(model:
  input: [4]
  outputs: [a, b]
  layers:
    - Dense: {name: a, units: 3}
    - Dense: {name: b, units: 3, inputs: input}
)";

std::vector<ObjectiveSpec> objectives(const std::string& compile) {
  return parse(kTwo + "compile: " + compile).compile->objectives;
}

std::string error(const std::string& compile, const std::string& model = kTwo) {
  return parse_error(model + "compile: " + compile);
}

}  // namespace

TEST_CASE("a loss by itself is that of every output") {
  for (const char* loss : {"{loss: mse}", "{loss: {Huber: {delta: 2}}}"}) {
    const auto found = objectives(loss);
    REQUIRE(found.size() == 2);
    CHECK(found[0].output == "a");
    CHECK(found[0].loss->name == found[1].loss->name);
    CHECK(found[1].weight == 1);
    CHECK(found[1].metrics.empty());
  }
}

TEST_CASE("maps go by the names of outputs, lists by their order") {
  for (const char* text : {"{loss: {b: mae, a: {Huber: {delta: 2}}}, loss_weights: {b: 0.5}, "
                           "metrics: {b: [mse, mae], a: acc}, labels: {a: digit}}",
                           "{loss: [{Huber: {delta: 2}}, mae], loss_weights: [1, 0.5], "
                           "metrics: [acc, [mse, mae]], labels: [digit, null]}"}) {
    const auto found = objectives(text);
    CHECK(found[0].loss->name == "Huber");
    CHECK(found[0].loss->args.find("delta")->value.scalar == "2");
    CHECK(found[1].loss->name == "mae");
    CHECK(found[0].weight == 1);
    CHECK(found[1].weight == 0.5);
    CHECK(found[0].metrics.size() == 1);
    CHECK(found[1].metrics.size() == 2);
    CHECK(found[0].label == "digit");
    CHECK(found[1].label.empty());
  }
}

TEST_CASE("an output may do without a loss") {
  const auto found = objectives("{loss: {b: mse}, metrics: {a: mae}}");
  CHECK_FALSE(found[0].loss);
  CHECK(found[0].metrics.size() == 1);
  const Config config = parse(kTwo + "compile: {loss: [null, mse]}");
  CHECK(config.compile->loss->name == "mse");
  CHECK_FALSE(config.compile->objectives[0].loss);
}

TEST_CASE("all outputs may, where layers add to the loss") {
  for (const char* compile :
       {"{optimizer: sgd}", "{loss: null}", "{loss: {a: null}}", "{loss: [null, null]}"}) {
    const Config config = parse(kTwo + "compile: " + compile);
    CHECK_FALSE(config.compile->loss);
    CHECK(config.compile->objectives.size() == 2);
    CHECK_FALSE(config.compile->objectives[1].loss);
  }
  CHECK(error("{loss_weights: {b: 3}}") ==
        "c.yaml:7:29: loss_weights: output 'b' has no loss to be weighted");
}

TEST_CASE("the only output of a model may be named, too") {
  const Config config = parse(kModel +
                              "compile: {loss: {d1: mse}, metrics: {d1: [mae]}, "
                              "loss_weights: 2, labels: z}");
  CHECK(config.compile->loss->name == "mse");
  CHECK(config.compile->objectives[0].metrics.size() == 1);
  CHECK(config.compile->objectives[0].weight == 2);
  CHECK(config.compile->objectives[0].label == "z");
  CHECK(parse(kModel + "compile: {loss: [mse]}").compile->loss->name == "mse");
}

TEST_CASE("the command line reaches the loss of one output") {
  const std::string text = kTwo + "compile: {loss: {a: mse, b: mse}}\n";
  const Config config = parse(text, {"compile.loss.b=mae"});
  CHECK(config.compile->objectives[0].loss->name == "mse");
  CHECK(config.compile->objectives[1].loss->name == "mae");
}

TEST_CASE("mistakes in what several outputs are given") {
  CHECK(error("{loss: {a: mse, c: mae}}") ==
        "c.yaml:7:26: loss: the model has no output 'c'; known: 'a', 'b'");
  CHECK(error("{loss: [mse]}") ==
        "c.yaml:7:17: loss has 1 entries, but the model has 2 outputs; give one for each, or a map "
        "by their names");
  CHECK(error("{loss: mse, metrics: acc}") ==
        "c.yaml:7:31: metrics must be a map by the names of the 2 outputs, such as {a: ..}, or a "
        "list in their order");
  CHECK(error("{loss: mse, loss_weights: 3}").find("loss_weights must be a map") !=
        std::string::npos);
  CHECK(error("{loss: {a: mse}, loss_weights: {b: 3}}") ==
        "c.yaml:7:45: loss_weights: output 'b' has no loss to be weighted");
  CHECK(error("{loss: mse, loss_weights: {a: x}}") ==
        "c.yaml:7:40: loss_weights must be a number, not 'x'");
  CHECK(error("{loss: mse, labels: {a: ''}}") ==
        "c.yaml:7:34: labels: the name of a field of the data is empty");
  CHECK(error("{loss: mse, loss_weights: {foo: 2}}", kModel) ==
        "c.yaml:5:37: loss_weights: the model has no output 'foo'; known: 'd1'");
  CHECK(error("{loss: mse, labels: {d2: y}}", kModel) ==
        "c.yaml:5:31: labels: the model has no output 'd2'; nearest: 'd1'");
  CHECK(error("{loss: {d1: mse, d2: mae}}", kModel) ==
        "c.yaml:5:27: loss: the model has no output 'd2'; nearest: 'd1'");
}
