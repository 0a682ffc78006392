#include "support/random_model.h"

#include <fmt/format.h>

#include <vector>

#include "support/dice.h"

namespace meshwork::testing {
namespace {

struct Loss {
  std::string text;
  std::string label;  ///< of the last layer's units: "vector", "classes", "bits"
  std::string head;   ///< activation of the last layer
  std::string metrics;
};

const std::vector<Loss>& losses() {
  static const std::vector<Loss> kLosses{
      {"mse", "vector", "linear", "[mae]"},
      {"mean_absolute_error", "vector", "tanh", "[mse]"},
      {"Huber: {delta: 0.5}", "vector", "linear", "[root_mean_squared_error]"},
      {"SparseCategoricalCrossentropy: {from_logits: true}", "classes", "linear",
       "[accuracy, Perplexity: {from_logits: true}]"},
      {"sparse_categorical_crossentropy", "classes", "softmax",
       "[accuracy, SparseTopKCategoricalAccuracy: {k: 2}]"},
      {"CategoricalCrossentropy: {from_logits: true, label_smoothing: 0.1}", "onehot", "linear",
       "[accuracy]"},
      {"categorical_crossentropy", "onehot", "softmax",
       "[TopKCategoricalAccuracy: {k: 2}, F1Score: {average: macro}]"},
      {"BinaryCrossentropy: {from_logits: true}", "bits", "linear", "[binary_accuracy]"},
      {"binary_crossentropy", "bits", "sigmoid", "[precision, recall, AUC: {num_thresholds: 20}]"},
  };
  return kLosses;
}

const std::vector<std::string>& optimizers() {
  static const std::vector<std::string> kOptimizers{
      "SGD: {learning_rate: 0.05}",
      "SGD: {learning_rate: 0.05, momentum: 0.9, nesterov: true}",
      "SGD: {learning_rate: 0.05, weight_decay: 0.01, clipnorm: 0.5}",
      "RMSprop: {learning_rate: 0.003, momentum: 0.5, centered: true, epsilon: 0.001}",
      "Adam: {learning_rate: 0.003, epsilon: 0.001}",
      "Adam: {learning_rate: 0.003, epsilon: 0.001, amsgrad: true, clipvalue: 0.05}",
      "AdamW: {learning_rate: 0.003, epsilon: 0.001, global_clipnorm: 0.5}",
  };
  return kOptimizers;
}

/// Those that came later.
const std::vector<std::string>& other_optimizers() {
  static const std::vector<std::string> kOptimizers{
      "Adadelta: {learning_rate: 0.5, epsilon: 0.001}",
      "Adafactor: {learning_rate: 0.05, epsilon_1: 1.0e-6}",
      "Adagrad: {learning_rate: 0.02}",
      "Adamax: {learning_rate: 0.003, epsilon: 0.001}",
      "Ftrl: {learning_rate: 0.05, l1_regularization_strength: 0.001}",
      "Lamb: {learning_rate: 0.003, epsilon: 0.001}",
      "Muon: {learning_rate: 0.003, epsilon: 0.001, ns_steps: 2}",
      "Nadam: {learning_rate: 0.003, epsilon: 0.001}",
  };
  return kOptimizers;
}

/// One layer after the last; returns its name.
class ModelText {
 public:
  /// `more` draws what came later, so that the rest of a model stays as it was.
  ModelText(Dice& dice, Dice& more, const MeshShape& mesh)
      : dice_(dice), more_(more), mesh_(mesh) {}

  void dense(int units, const std::string& activation, const std::string& inputs = "") {
    const std::string name = fmt::format("d{}", ++count_);
    last_ = name;
    const bool bias = dice_.chance(80);
    text += fmt::format("    - Dense: {{name: {}, units: {}, activation: {}, use_bias: {}{}{}}}\n",
                        name, units, activation, bias, inputs.empty() ? "" : ", inputs: " + inputs,
                        lora(name));
    rule(name + "/kernel", 2, 70);
    if (bias) rule(name + "/bias", 1, 50);
    rule(name + "/output", 2, 25);
    slot_rule(name);
  }

  /// A layer without weights: "Dropout", "rate: 0.3".
  void layer(const std::string& type, const std::string& arguments) {
    last_ = fmt::format("l{}", ++others_);
    text += fmt::format("    - {}: {{name: {}{}{}}}\n", type, last_, arguments.empty() ? "" : ", ",
                        arguments);
  }
  const std::string& last() const { return last_; }

  std::string text;
  std::string rules;
  std::string slots;

 private:
  /// Arguments that adapt the kernel of a layer, now and then.
  std::string lora(const std::string& name) {
    if (!more_.chance(15)) return "";
    for (const char* factor : {"a", "b"}) {
      if (!more_.chance(50)) continue;
      rules +=
          fmt::format("  {}/lora_kernel_{}: {}\n", name, factor, random_layout(more_, mesh_, 2));
    }
    return fmt::format(", lora_rank: {}, lora_alpha: 3", more_.between(1, 5));
  }
  void rule(const std::string& path, int rank, int percent) {
    if (dice_.chance(percent)) {
      rules += fmt::format("  {}: {}\n", path, random_layout(dice_, mesh_, rank));
    }
  }
  void slot_rule(const std::string& name) {
    if (dice_.chance(25)) {
      slots += fmt::format("  {}/kernel: {}\n", name, random_layout(dice_, mesh_, 2));
    }
  }

  Dice& dice_;
  Dice& more_;
  const MeshShape& mesh_;
  int count_ = 0;
  int others_ = 0;
  std::string last_;
};

void hidden_layers(Dice& dice, ModelText& model) {
  static const std::vector<std::string> kActivations{
      "relu", "tanh", "sigmoid", "gelu", "elu", "silu", "softplus", "leaky_relu", "softmax"};
  const int layers = dice.between(1, 3);
  for (int i = 0; i < layers; ++i) {
    const int units = dice.between(1, 17);
    model.dense(units, dice.one_of(kActivations));
    if (dice.chance(30)) model.layer("Dropout", "rate: 0.3");
    if (dice.chance(15)) model.layer("Rescaling", "scale: 0.5, offset: 0.1");
    if (dice.chance(20)) {
      // A branch of the same width, joined again.
      const std::string left = model.last();
      model.dense(units, "tanh", left);
      const std::string join =
          dice.one_of(std::vector<std::string>{"Add", "Multiply", "Concatenate"});
      model.layer(join, fmt::format("inputs: [{}, {}]", left, model.last()));
    }
  }
}

}  // namespace

RandomModel random_model(std::uint64_t seed) {
  Dice dice(seed);
  RandomModel result;
  const MeshShape mesh = random_mesh(dice);
  result.mesh = mesh.text;
  const Loss& loss = dice.one_of(losses());
  const int units = dice.between(2, 9);
  const int batch = dice.between(1, 13);
  const int samples = batch + dice.between(0, 2 * batch);
  const bool image = dice.chance(40);
  const std::string input = image ? "4, 3" : "11";

  Dice more(seed + 1'000'000);
  ModelText model(dice, more, mesh);
  if (image && dice.chance(50)) {
    model.layer("Flatten", "");
  } else if (image) {
    model.layer("Reshape", "target_shape: [-1]");
  }
  hidden_layers(dice, model);
  model.dense(units, loss.head);

  std::string label = fmt::format("{{normal: [{}, {}]}}", samples, units);
  std::string y;
  if (loss.label != "vector") label = fmt::format("{{integers: [{}], below: {}}}", samples, units);
  if (loss.label == "onehot") y = fmt::format("  y: {{one_hot: {}}}\n", units);
  if (loss.label == "bits") label = fmt::format("{{integers: [{}, {}], below: 2}}", samples, units);
  if (loss.label == "bits") y = "  y: {dtype: float32}\n";

  std::string optimizer = dice.one_of(optimizers());
  if (more.chance(30)) optimizer = more.one_of(other_optimizers());
  result.text = fmt::format(
      "seed: {}\ndataset:\n  name: random\n  format: synthetic\n  splits:\n    train: {{x: "
      "{{normal: "
      "[{}, {}]}}, y: {}}}\n{}model:\n  input: [{}]\n  layers:\n{}compile:\n  optimizer: {{{}}}\n  "
      "loss: {}\n  metrics: {}\nfit: {{batch_size: {}}}\n",
      seed, samples, input, label, y, input, model.text, optimizer,
      loss.text.find(':') == std::string::npos ? loss.text : "{" + loss.text + "}", loss.metrics,
      batch);
  result.layouts = layout_map(model.rules);
  if (!model.slots.empty()) result.layouts += "optimizer_layout:\n" + model.slots;
  result.layouts += random_batch_axis(dice, mesh);
  return result;
}

}  // namespace meshwork::testing
