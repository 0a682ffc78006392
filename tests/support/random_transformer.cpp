#include <fmt/format.h>

#include <algorithm>

#include "support/dice.h"
#include "support/random_model.h"

namespace meshwork::testing {
namespace {

/// Keras's tables begin so near to 0 that a normalization behind them blows rounding up.
constexpr const char* kTable = "embeddings_initializer: {RandomNormal: {stddev: 0.5}}";

/// What all blocks of a model have in common.
struct Sizes {
  int steps, width, tokens;
  bool has_mask;  ///< an input of attention masks
};

/// Blocks of a transformer, one after the other.
class Blocks {
 public:
  Blocks(Dice& dice, const MeshShape& mesh, const Sizes& sizes)
      : dice_(dice), mesh_(mesh), sizes_(sizes) {}

  /// Gives the name of what stands before the first block.
  void embed() {
    is_tied_ = dice_.chance(40);
    const bool hides = dice_.chance(25);
    layer(is_tied_ ? "ReversibleEmbedding" : "Embedding", "tokens",
          fmt::format("input_dim: {}, output_dim: {}, mask_zero: {}, {}, inputs: x", sizes_.tokens,
                      sizes_.width, hides, kTable));
    rule("tokens/embeddings", 2, 60);
    is_rotary_ = dice_.chance(40);
    if (is_rotary_) return;
    layer("PositionEmbedding", "positions", fmt::format("sequence_length: {}", sizes_.steps + 1));
    rule("positions/embeddings", 2, 40);
    layer("Add", "embedded", "inputs: [tokens, positions]");
    rule("embedded/output", 3, 30);
  }

  void block() {
    name_ = fmt::format("b{}_", count_++);
    const int kind = dice_.below(10);
    if (kind == 0) return whole("TransformerEncoder", "self_attention_layer");
    if (kind == 1) return whole("TransformerDecoder", "self_attention");
    const bool first = dice_.chance(70);
    const std::string residual = last_;
    if (first) normalize("norm1");
    attend();
    add("sum1", residual);
    if (!first) normalize("norm1");
    const std::string between = last_;
    if (first) normalize("norm2");
    feed_forward();
    add("sum2", between);
    if (!first) normalize("norm2");
  }

  void head() {
    name_.clear();
    if (is_tied_) {
      text += "    - use: {layer: tokens, name: logits, reverse: true}\n";
      return;
    }
    layer("Dense", "logits", fmt::format("units: {}", sizes_.tokens));
    rule("logits/kernel", 2, 70);
    rule("logits/bias", 1, 40);
    rule("logits/output", 3, 30);
  }

  std::string text;
  std::string rules;

 private:
  void layer(const std::string& type, const std::string& name, const std::string& arguments) {
    last_ = name_ + name;
    text += fmt::format("    - {}: {{name: {}{}{}}}\n", type, last_, arguments.empty() ? "" : ", ",
                        arguments);
  }

  void rule(const std::string& path, int rank, int percent) {
    if (!dice_.chance(percent)) return;
    rules += fmt::format("  {}{}: {}\n", name_, path, random_layout(dice_, mesh_, rank));
  }

  void normalize(const std::string& name) {
    const bool is_rms = dice_.chance(50);
    layer(is_rms ? "RMSNormalization" : "LayerNormalization", name, "");
    rule(name + (is_rms ? "/scale" : "/gamma"), 1, 30);
    rule(name + "/output", 3, 25);
  }

  void add(const std::string& name, const std::string& residual) {
    if (dice_.chance(25)) layer("Dropout", name + "_drop", "rate: 0.2");
    layer("Add", name, fmt::format("inputs: [{}, {}]", residual, last_));
    rule(name + "/output", 3, 25);
  }

  void whole(const std::string& type, const std::string& attention) {
    layer(type, "all",
          fmt::format("intermediate_dim: {}, num_heads: {}, normalize_first: {}, dropout: {}",
                      dice_.between(1, 9), dice_.between(1, std::min(3, sizes_.width)),
                      dice_.chance(50), dice_.chance(30) ? 0.2 : 0.0));
    rule("all/" + attention + "/query/kernel", 3, 60);
    rule("all/" + attention + "/attention_output/kernel", 3, 60);
    rule("all/feedforward_intermediate_dense/kernel", 2, 60);
    rule("all/feedforward_output_dense/kernel", 2, 60);
    rule("all/output", 3, 25);
  }

  std::string mask_arguments(const char* causal) {
    std::string arguments = fmt::format("{}: {}", causal, dice_.chance(60));
    if (dice_.chance(20)) arguments += fmt::format(", sliding_window: {}", dice_.between(1, 4));
    if (dice_.chance(25)) arguments += ", dropout: 0.2";
    return arguments;
  }

  void attend() {
    const int groups = dice_.between(1, 3);
    const int heads = groups * dice_.between(1, 3);
    const int width = 2 * dice_.between(1, 3);
    if (is_rotary_) return attend_turned(heads, groups, width);
    const bool is_grouped = dice_.chance(50);
    const std::string sizes =
        is_grouped ? fmt::format("head_dim: {}, num_query_heads: {}, num_key_value_heads: {}",
                                 width, heads, groups)
                   : fmt::format("key_dim: {}, num_heads: {}", width, heads);
    const std::string mask = sizes_.has_mask && dice_.chance(60) ? ", attention_mask: mask" : "";
    layer(is_grouped ? "GroupQueryAttention" : "MultiHeadAttention", "attention",
          fmt::format("{}, {}, use_bias: {}, inputs: {{query: {}, value: {}{}}}", sizes,
                      mask_arguments("use_causal_mask"), dice_.chance(50), last_, last_, mask));
    for (const char* part : {"query", "key", "value", "attention_output"}) {
      rule(fmt::format("attention/{}/kernel", part), 3, 60);
    }
    rule("attention/output", 3, 25);
  }

  void project(const std::string& name, const std::string& from, int heads, int width) {
    layer("EinsumDense", name,
          fmt::format("equation: 'btd,dhk->bthk', output_shape: [null, {}, {}], inputs: {}{}",
                      heads, width, from, lora(name, 3)));
    rule(name + "/kernel", 3, 60);
    rule(name + "/output", 4, 20);
  }

  void attend_turned(int heads, int groups, int width) {
    const std::string from = last_;
    project("query", from, heads, width);
    layer("RotaryEmbedding", "turned_query", "");
    project("key", from, groups, width);
    layer("RotaryEmbedding", "turned_key", "");
    project("value", from, groups, width);
    const std::string mask = sizes_.has_mask && dice_.chance(60) ? ", mask" : "";
    layer("DotProductAttention", "attended",
          fmt::format("{}, inputs: [{}turned_query, {}turned_key, {}value{}]",
                      mask_arguments("is_causal"), name_, name_, name_, mask));
    rule("attended/output", 4, 25);
    layer("EinsumDense", "attention_output",
          fmt::format("equation: 'bthk,hkd->btd', output_shape: [null, {}]", sizes_.width));
    rule("attention_output/kernel", 3, 60);
  }

  void feed_forward() {
    if (dice_.chance(20)) return experts();
    const std::string from = last_;
    const int hidden = dice_.between(1, 13);
    const bool is_gated = dice_.chance(50);
    if (is_gated) dense("gate", hidden, from, "silu");
    dense("up", hidden, from, is_gated ? "linear" : "gelu");
    if (is_gated) layer("Multiply", "gated", fmt::format("inputs: [{}gate, {}up]", name_, name_));
    dense("down", sizes_.width, last_, "linear");
  }

  /// All are chosen, or there is one, which has not slots for all: rounding changes no choice.
  void experts() {
    const int count = dice_.chance(50) ? 1 : dice_.between(2, 5);
    layer(
        "MixtureOfExperts", "mixture",
        fmt::format("num_experts: {}, top_k: {}, intermediate_dim: {}, use_gate: {}, "
                    "norm_top_k_prob: {}{}",
                    count, count, dice_.between(1, 9), dice_.chance(70), dice_.chance(50),
                    count == 1 ? fmt::format(", capacity_factor: 0.{}", dice_.between(1, 9)) : ""));
    rule("mixture/router/kernel", 2, 30);
    for (const char* part : {"gate", "up", "down"}) {
      rule(fmt::format("mixture/experts/{}/kernel", part), 3, 60);
    }
    rule("mixture/output", 3, 25);
  }

  void dense(const std::string& name, int units, const std::string& from,
             const std::string& activation) {
    layer("Dense", name,
          fmt::format("units: {}, activation: {}, use_bias: {}, inputs: {}{}", units, activation,
                      dice_.chance(50), from, lora(name, 2)));
    rule(name + "/kernel", 2, 70);
    rule(name + "/output", 3, 20);
  }

  /// Arguments that adapt a kernel, now and then.
  std::string lora(const std::string& name, int rank) {
    if (!dice_.chance(12)) return "";
    rule(name + "/lora_kernel_a", rank, 50);
    rule(name + "/lora_kernel_b", 2, 50);
    return fmt::format(", lora_rank: {}, lora_alpha: 3", dice_.between(1, 4));
  }

  Dice& dice_;
  const MeshShape& mesh_;
  const Sizes& sizes_;
  bool is_tied_ = false;
  bool is_rotary_ = false;
  int count_ = 0;
  std::string name_;  ///< of the block, before those of its layers
  std::string last_;
};

std::string optimizer_of(Dice& dice) {
  return dice.one_of(std::vector<std::string>{
      "SGD: {learning_rate: 0.05, momentum: 0.9}", "Adam: {learning_rate: 0.003, epsilon: 0.001}",
      "AdamW: {learning_rate: 0.003, epsilon: 0.001, global_clipnorm: 0.5}"});
}

}  // namespace

RandomModel random_transformer(std::uint64_t seed) {
  Dice dice(seed);
  RandomModel result;
  const MeshShape mesh = random_mesh(dice);
  result.mesh = mesh.text;
  const Sizes sizes{.steps = dice.between(1, 9),
                    .width = dice.between(3, 11),
                    .tokens = dice.between(3, 17),
                    .has_mask = dice.chance(50)};
  const int batch = dice.between(1, 9);
  const int samples = batch + dice.between(0, 2 * batch);
  Blocks blocks(dice, mesh, sizes);
  blocks.embed();
  const int count = dice.between(1, 2);
  for (int i = 0; i < count; ++i) blocks.block();
  blocks.head();
  const bool masks = blocks.text.find("mask: mask") != std::string::npos ||
                     blocks.text.find(", mask]") != std::string::npos;
  const std::string window =
      fmt::format("{{integers: [{}, {}], below: {}}}", samples, sizes.steps, sizes.tokens);
  const std::string mask =
      fmt::format(", mask: {{integers: [{0}, {1}, {1}], below: 2}}", samples, sizes.steps);
  result.text = fmt::format(
      "seed: {}\ndataset:\n  name: random\n  format: synthetic\n  splits:\n    train: {{x: {}, y: "
      "{}{}}}\nmodel:\n  inputs: {{x: {{shape: [{}], dtype: int32}}{}}}\n  layers:\n{}compile:\n  "
      "optimizer: {{{}}}\n  loss: {{SparseCategoricalCrossentropy: {{from_logits: true}}}}\n  "
      "metrics: [accuracy]\nfit: {{batch_size: {}}}\n",
      seed, window, window, masks ? mask : "", sizes.steps,
      masks ? fmt::format(", mask: [{0}, {0}]", sizes.steps) : "", blocks.text, optimizer_of(dice),
      batch);
  result.layouts = layout_map(blocks.rules);
  result.layouts += random_batch_axis(dice, mesh);
  return result;
}

}  // namespace meshwork::testing
