#include <fmt/format.h>

#include "base/join.h"
#include "support/dice.h"
#include "support/random_model.h"

namespace meshwork::testing {
namespace {

/// Recurrent layers, one behind the other.
class Recurrent {
 public:
  Recurrent(Dice& dice, const MeshShape& mesh) : dice_(dice), mesh_(mesh) {}

  void embed(int tokens) {
    text += fmt::format(
        "    - Embedding: {{name: tokens, input_dim: {}, output_dim: {}, mask_zero: {}, "
        "embeddings_initializer: {{RandomNormal: {{stddev: 0.5}}}}}}\n",
        tokens, dice_.between(1, 7), dice_.chance(40));
    rule("tokens/embeddings", 2, 50);
    rule("tokens/output", 3, 25);
  }

  /// A layer that gives all steps, or the last alone.
  void layer(bool gives_all) {
    const std::string kind = dice_.one_of(std::vector<std::string>{"LSTM", "GRU", "SimpleRNN"});
    const std::string cell = kind == "LSTM" ? "lstm" : kind == "GRU" ? "gru" : "simple_rnn";
    const std::string name = fmt::format("r{}", count_++);
    const int units = dice_.chance(50) ? 4 : dice_.between(1, 7);
    std::string arguments = fmt::format("units: {}, return_sequences: {}, use_bias: {}", units,
                                        gives_all, dice_.chance(80));
    if (dice_.chance(30)) arguments += ", dropout: 0.3";
    if (dice_.chance(30)) arguments += ", recurrent_dropout: 0.3";
    if (dice_.chance(20)) arguments += ", zero_output_for_mask: true";
    if (kind == "GRU" && dice_.chance(30)) arguments += ", reset_after: false";
    if (dice_.chance(35)) {
      const std::string merge =
          dice_.one_of(std::vector<std::string>{"concat", "sum", "mul", "ave"});
      states_.clear();
      text += fmt::format(
          "    - Bidirectional: {{name: {}, merge_mode: {}, layer: {{{}: {{name: in, {}}}}}}}\n",
          name, merge, kind, arguments);
      kernels(fmt::format("{}/forward_in/{}_cell", name, cell));
      kernels(fmt::format("{}/backward_in/{}_cell", name, cell));
    } else {
      if (dice_.chance(25)) arguments += ", go_backwards: true";
      arguments += ", return_state: true";
      if (dice_.chance(60)) arguments += from_states(kind, units);
      states_ = {{name + "/state_h", units}};
      if (kind == "LSTM") states_.push_back({name + "/state_c", units});
      text += fmt::format("    - {}: {{name: {}, {}}}\n", kind, name, arguments);
      kernels(fmt::format("{}/{}_cell", name, cell));
    }
    rule(name + "/output", gives_all ? 3 : 2, 25);
    last_ = name;
  }

  void head(int classes) {
    text += fmt::format("    - Dense: {{name: logits, units: {}}}\n", classes);
    rule("logits/kernel", 2, 50);
  }

  std::string text, rules;

 private:
  /// What begins with the states of the layer before, as wide as its own.
  std::string from_states(const std::string& kind, int units) {
    std::vector<std::string> given;
    for (const auto& [state, width] : states_) {
      if (width == units) given.push_back(state);
    }
    const std::size_t count = kind == "LSTM" ? 2 : 1;
    if (given.empty()) return "";
    given.resize(count, given.front());
    for (std::size_t s = 0; s < count; ++s) {
      if (s == 0 || given[s] != given[0]) rule(given[s], 2, 25);
    }
    return fmt::format(", inputs: [{}, {}]", last_, join(given, ", "));
  }

  void kernels(const std::string& cell) {
    rule(cell + "/kernel", 2, 60);
    rule(cell + "/recurrent_kernel", 2, 70);
  }

  void rule(const std::string& path, int rank, int percent) {
    if (!dice_.chance(percent)) return;
    rules += fmt::format("  {}: {}\n", path, random_layout(dice_, mesh_, rank));
  }

  Dice& dice_;
  const MeshShape& mesh_;
  int count_ = 0;
  std::string last_ = "tokens";                      ///< the layer that stands before
  std::vector<std::pair<std::string, int>> states_;  ///< of it, with their widths
};

}  // namespace

RandomModel random_recurrent(std::uint64_t seed) {
  Dice dice(seed);
  RandomModel result;
  const MeshShape mesh = random_mesh(dice);
  result.mesh = mesh.text;
  const int steps = dice.between(1, 6), tokens = dice.between(3, 9), classes = dice.between(2, 5);
  const int batch = dice.between(1, 9);
  const int samples = batch + dice.between(0, 2 * batch);
  Recurrent layers(dice, mesh);
  layers.embed(tokens);
  const bool gives_all = dice.chance(50);
  if (dice.chance(50)) layers.layer(true);
  layers.layer(gives_all);
  layers.head(classes);
  result.text = fmt::format(
      "seed: {}\ndataset:\n  name: random\n  format: synthetic\n  splits:\n    train: {{x: "
      "{{integers: [{}, {}], below: {}}}, y: {{integers: [{}{}], below: {}}}}}\nmodel:\n  input: "
      "{{shape: [{}], dtype: int32}}\n  layers:\n{}compile:\n  optimizer: {{SGD: {{learning_rate: "
      "0.05, momentum: 0.9}}}}\n  loss: {{SparseCategoricalCrossentropy: {{from_logits: true}}}}\n"
      "  metrics: [accuracy]\nfit: {{batch_size: {}}}\n",
      seed, samples, steps, tokens, samples, gives_all ? fmt::format(", {}", steps) : "", classes,
      steps, layers.text, batch);
  result.layouts = layout_map(layers.rules);
  result.layouts += random_batch_axis(dice, mesh);
  return result;
}

}  // namespace meshwork::testing
