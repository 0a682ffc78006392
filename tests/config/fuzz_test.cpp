// Whatever is typed is read, or is an Error that begins with its place.
#include <doctest/doctest.h>

#include "config/config_text.h"

using namespace meshwork::config;

namespace {

const std::string kFile = R"(seed: 7
mesh: {data: 2, model: -1}
strategy: model_parallel
batch_axis: [data]
layout_map:
  d1/kernel: [null, [model]]
optimizer_layout: {d1/.*: [data]}
dataset: {format: csv, splits: {train: a.csv}}
blocks:
  r: {params: {n: 3, m: $(n * 2 - 1)}, inputs: [x, y], output: s,
      layers: [ReLU: {name: r$m, if: $(n == 3 or m < 2), inputs: x}, Add: {name: s, inputs: [r$m, y]}]}
model:
  params: {w: [4, 8], k: r}
  inputs: {a: [28, 28, 1], b: 4}
  outputs: [d1, use]
  freeze: [d1, r/.*]
  layers:
    - Dense: {name: d1, units: '$(w[-1] ** 2)', inputs: [a], kernel_layout: [null, data]}
    - Dropout: {repeat: 2}
    - Add: {inputs: [dropout_1, b]}
    - $k: {n: $(len(w) if index > 0 else 3), repeat: 2, inputs: [add, b], trainable: false}
    - use: {layer: r, inputs: [r_1, d1], name: use}
compile: {optimizer: {Adam: {learning_rate: 0.001}}, loss: {d1: mse, use: mae}, loss_weights: [1, 2], metrics: [[accuracy], []]}
fit: {batch_size: 16, epochs: 3, validation_split: 0.5}
)";

class Dice {
 public:
  std::size_t below(std::size_t bound) {
    state_ = state_ * 6364136223846793005u + 1442695040888963407u;
    return static_cast<std::size_t>(state_ >> 33) % bound;
  }

 private:
  std::uint64_t state_ = 42;
};

/// One slip: a letter lost, replaced or put in, or a stretch of the file lost.
std::string slip(std::string text, Dice& dice) {
  constexpr std::string_view kLetters = "{}[]():,-. \n'\"x/=09*&#|~$%";
  const std::size_t at = dice.below(text.size());
  const char letter = kLetters[dice.below(kLetters.size())];
  switch (dice.below(4)) {
    case 0:
      text.erase(at, 1);
      break;
    case 1:
      text[at] = letter;
      break;
    case 2:
      text.insert(at, 1, letter);
      break;
    default:
      text.erase(at, dice.below(60));
  }
  return text;
}

}  // namespace

TEST_CASE("slips in a file") {
  Dice dice;
  for (int round = 0; round < 4000; ++round) {
    std::string text = kFile;
    for (std::size_t slips = dice.below(3) + 1; slips > 0; --slips) text = slip(text, dice);
    CAPTURE(text);
    const std::string error = parse_error(text);
    CHECK((error.empty() || error.starts_with("c.yaml:")));
  }
}

TEST_CASE("the file without slips is all right") { CHECK(parse_error(kFile) == ""); }

TEST_CASE("slips in assignments") {
  Dice dice;
  const std::vector<std::string> assignments{"model.layers.d1.units=300",
                                             "layout_map.\"d1/kernel\".1=null",
                                             "mesh.model=4",
                                             "compile.optimizer.SGD.momentum=0.5",
                                             "dataset.splits.train=[b.csv]",
                                             "compile.metrics.0=null",
                                             "model.layers.1={Dense: {units: 3}}",
                                             "fit={epochs: 1}"};
  for (int round = 0; round < 4000; ++round) {
    const std::string assignment = slip(assignments[dice.below(assignments.size())], dice);
    CAPTURE(assignment);
    const std::string error = parse_error(kFile, {assignment});
    CHECK((error.empty() || error.starts_with("c.yaml:") ||
           error.starts_with("command line: '" + assignment + "': ")));
  }
}
