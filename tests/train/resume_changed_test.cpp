// Runs that go on with another configuration: what may change, and what is said of it.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <filesystem>

#include "cut_off.h"

using namespace meshwork;
using namespace meshwork::testing::runs;
using meshwork::test::read_log;
using meshwork::test::read_text;
using meshwork::test::TempDirectory;
namespace fs = std::filesystem;

namespace {

constexpr const char* kAdam = "{Adam: {learning_rate: 0.05}}";

}  // namespace

TEST_CASE("a resumed run takes the learning rate that the configuration now says") {
  const TempDirectory directory;
  const auto text = [](const std::string& rate) {
    return text_of(fmt::format("{{SGD: {{learning_rate: {}}}}}", rate),
                   "batch_size: 8, epochs: 4, log_steps: true, callbacks: ["
                   "ReduceLROnPlateau: {monitor: loss, factor: 0.5, patience: 0, min_delta: 9}]") +
           "checkpoint: {every: 1 step, keep: 100}\n";
  };
  const std::string full = directory.file("full"), cut = directory.file("cut");
  const Outcome whole = fit_on(text("0.05"), "1x1", full);
  REQUIRE(whole.error == "");
  const auto resumed = [&](const std::string& rate) {
    cut_off(full, cut, 5);
    const Outcome run = resume(text(rate), "1x1", cut);
    CHECK(run.error == "");
    return run.result.digest;
  };
  CHECK(resumed("0.05") == whole.result.digest);
  CHECK(resumed("0.06") != whole.result.digest);
  // And keeps it where it is resumed again.
  const std::uint64_t other = resumed("0.06");
  cut_off(cut, directory.file("again"), 8);
  CHECK(resume(text("0.06"), "1x1", directory.file("again")).result.digest == other);
}

TEST_CASE("a metric may come to a run that goes on") {
  const TempDirectory directory;
  const auto text = [](const std::string& metrics, int epochs, const std::string& every) {
    return text_of(kAdam,
                   fmt::format("batch_size: 8, epochs: {}, callbacks: [CSVLogger: {{filename: "
                               "log.csv}}]",
                               epochs),
                   metrics) +
           "checkpoint: {every: 1 " + every + ", keep: 100}\n";
  };
  const std::string both = "[mae, cosine_similarity]";
  const std::string full = directory.file("full"), cut = directory.file("cut");
  const Outcome whole = fit_on(text("[mae]", 3, "step"), "1x1", full);
  const Outcome expected = fit_on(text(both, 3, "step"), "1x1", directory.file("both"));
  const auto check = [&](const std::string& every) {
    const Outcome outcome = resume(text(both, 3, every), "1x1", cut);
    REQUIRE(outcome.error == "");
    CHECK(outcome.result.digest == whole.result.digest);
    for (const char* file : {"metrics.csv", "log.csv"}) {
      CAPTURE(file);
      CHECK(read_log(full + "/" + file) == read_log(cut + "/" + file));
      CHECK(outcome.out.find(fmt::format("note: {}/{}: it was begun without 'cosine_similarity', "
                                         "and goes on without; ",
                                         cut, file)) != std::string::npos);
    }
    return outcome;
  };
  // Within the third epoch, whose mean lacks two steps; within the second; and between them.
  cut_off(full, cut, 7);
  CHECK(check("step").out.find(
            "note: cosine_similarity: the run that is resumed had no such metric; its mean of "
            "epoch 3 begins with step 3\n") != std::string::npos);
  cut_off(full, cut, 3);
  CHECK(check("step").result.logs == expected.result.logs);
  REQUIRE(fit_on(text("[mae]", 2, "epoch"), "1x1", cut).error == "");
  const Outcome between = check("epoch");
  CHECK(between.result.logs == expected.result.logs);
  CHECK(between.out.find("begins with step") == std::string::npos);
}

TEST_CASE("a run that was stopped early says so, and goes on if its callbacks now say otherwise") {
  const TempDirectory directory;
  const std::string run = directory.file("run"), again = directory.file("again");
  const auto text = [](const std::string& callbacks) {
    return text_of(kAdam, "batch_size: 8, epochs: 5, callbacks: [" + callbacks + "]");
  };
  const auto resumed = [&](const std::string& callbacks) {
    fs::remove_all(again);
    fs::copy(run, again, fs::copy_options::recursive);
    const Outcome outcome = resume(text(callbacks), "2x2", again);
    CHECK(outcome.error == "");
    return outcome;
  };
  // The loss falls, which is no improvement for it.
  const std::string stops = "EarlyStopping: {monitor: loss, mode: max, restore_best_weights: true";
  const Outcome stopped = fit_on(text(stops + "}"), "2x2", run);
  REQUIRE(stopped.result.logs.size() > 0);
  const auto epochs = [](const std::string& directory_of_run) {
    return cells_of(read_text(directory_of_run + "/metrics.csv")).size() - 1;
  };
  REQUIRE(epochs(run) == 2);
  const std::string line =
      "note: the run was stopped early after epoch 2, and no epoch is trained; to go on, give the "
      "callback that stopped it more patience, or leave it out\n";
  const Outcome same = resumed(stops + "}");
  CHECK(same.out.find(line) != std::string::npos);
  CHECK(same.result.digest == stopped.result.digest);
  CHECK(epochs(again) == 2);
  CHECK(resumed(stops + ", patience: 2}").out.find(line) == std::string::npos);
  CHECK(epochs(again) == 3);
  resumed("");
  CHECK(epochs(again) == 5);
  const Outcome other = resumed("EarlyStopping: {monitor: loss, restore_best_weights: true}");
  CHECK(other.out.find("note: EarlyStopping begins anew with the best loss (mode min); the run "
                       "that is resumed went by loss (mode max)\n") != std::string::npos);
  CHECK(epochs(again) > 2);
}

TEST_CASE("the best checkpoint is found anew where another number is to tell") {
  const TempDirectory directory;
  const std::string run = directory.file("run");
  const auto text = [](const std::string& best, int epochs) {
    return text_of(kAdam, fmt::format("batch_size: 8, epochs: {}", epochs)) +
           "checkpoint: {keep: 1, best: " + best + "}\n";
  };
  REQUIRE(fit_on(text("mae", 1), "1x1", run).error == "");
  const Outcome outcome = resume(text("loss", 2), "1x1", run);
  CHECK(outcome.error == "");
  CHECK(outcome.out.find("note: checkpoint: best begins anew with loss; the run that is resumed "
                         "went by mae\n") != std::string::npos);
}

namespace {

/// A classifier with whatever only training sees.
constexpr const char* kClassifier = R"(
mesh: {data: 1, model: 1}
dataset:
  format: synthetic
  splits: {train: {x: {normal: [20, 3]}, y: {integers: [20], below: 5}}}
model:
  input: [3]
  layers:
    - Dense: {name: d1, units: 7, activation: relu, kernel_regularizer: {L2: {l2: 0.01}}}
    - Dropout: {name: drop, rate: 0.2}
    - Dense: {name: d2, units: 5}
compile:
  optimizer: {Adam: {learning_rate: 0.01, beta_1: 0.9}}
  loss: {SparseCategoricalCrossentropy: {from_logits: true}}
  metrics: [accuracy]
fit: {batch_size: 8, epochs: 2}
)";

/// The text with one part of it in the place of another.
std::string changed(std::string text, const std::string& from, const std::string& to) {
  REQUIRE(text.find(from) != std::string::npos);
  return text.replace(text.find(from), from.size(), to);
}

}  // namespace

TEST_CASE("a run goes on as the same model with the same loss, or not at all") {
  const TempDirectory directory;
  const std::string run = directory.file("run");
  REQUIRE(fit_on(kClassifier, "1x1", run).error == "");
  const std::string newest = checkpoints_in(run).back();
  const auto complaint = [&](const std::string& from, const std::string& to) {
    const std::string text = changed(kClassifier, from, to);
    const std::string error = resume(text, "2x1", run).error;
    CHECK(error.starts_with(newest + ": "));
    CHECK(error.find(" a run goes on as the same model with the same loss: leave it as it was, or "
                     "begin a new run with --new --from " +
                     newest) != std::string::npos);
    // The weights are still good for a run of another model.
    const Outcome other = fit_on(text, "1x1", directory.file("other"), 0,
                                 {.from = newest, .rerun = Rerun::kOverwrite});
    CHECK(other.error == "");
    return error.substr(newest.size() + 2, error.find("; ") - newest.size() - 2);
  };
  CHECK(complaint("activation: relu", "activation: tanh") ==
        "layer 'd1' is 'Dense: {units: 7, activation: tanh, kernel_regularizer: {L2: {l2: 0.01}}}' "
        "here, 'Dense: {units: 7, activation: relu, kernel_regularizer: {L2: {l2: 0.01}}}' in the "
        "run that is resumed");
  CHECK(complaint("from_logits: true", "from_logits: false") ==
        "loss is 'SparseCategoricalCrossentropy: {from_logits: false}' here, "
        "'SparseCategoricalCrossentropy: {from_logits: true}' in the run that is resumed");
  CHECK(complaint("epochs: 2", "epochs: 2, class_weight: {0: 2}") ==
        "class_weight is '0: 2' here, 'none' in the run that is resumed");
  CHECK(complaint("  metrics:", "  loss_weights: 2\n  metrics:") ==
        "loss_weights is '2' here, '1' in the run that is resumed");
  CHECK(complaint("units: 5}", "units: 5}\n    - Softmax: {name: s}") ==
        "layer 's' is 'Softmax' here, 'none' in the run that is resumed");
  CHECK(checkpoints_in(run).back() == newest);
}

TEST_CASE("a run goes on with the state of its optimizer, or not at all") {
  const TempDirectory directory;
  const std::string run = directory.file("run");
  REQUIRE(fit_on(kClassifier, "1x1", run).error == "");
  const std::string newest = checkpoints_in(run).back();
  const std::string adam = "{Adam: {learning_rate: 0.01, beta_1: 0.9}}";
  const auto complaint = [&](const std::string& optimizer, const std::string& mesh) {
    const Outcome outcome = resume(changed(kClassifier, adam, optimizer), mesh, run);
    CHECK(outcome.error.starts_with(newest + ": "));
    CHECK(outcome.error.ends_with(" or begin a new run with --new --from " + newest +
                                  " --weights-only"));
    return outcome.error.substr(newest.size() + 2);
  };
  CHECK(complaint("{Adam: {amsgrad: true}}", "2x1")
            .starts_with("4 tensors do not fit:\n  no tensor 'adam/d1_bias_velocity_hat', "
                         "float32[7] of the optimizer\n"));
  CHECK(complaint("{Lamb: {}}", "1x1").starts_with("8 tensors do not fit:\n  no tensor 'lamb/"));
  CHECK(complaint("{Adam: {gradient_accumulation_steps: 2}}", "1x1")
            .starts_with("gradient_accumulation_steps is 2 here, none in the run that is resumed; "
                         "a run goes on with the sums of gradients that it has: "));
  // The way out.
  CHECK(fit_on(changed(kClassifier, adam, "{Lamb: {}}"), "1x1", directory.file("other"), 0,
               {.from = newest, .weights_only = true, .rerun = Rerun::kOverwrite})
            .error == "");
}

TEST_CASE("another optimizer takes no state of a checkpoint, and says so") {
  const TempDirectory directory;
  const std::string run = directory.file("run");
  REQUIRE(fit_on(kClassifier, "1x1", run).error == "");
  const std::string newest = checkpoints_in(run).back();
  const auto begin = [&](const std::string& optimizer) {
    const Outcome outcome =
        fit_on(changed(kClassifier, "{Adam: {learning_rate: 0.01, beta_1: 0.9}}", optimizer), "2x1",
               directory.file("other"), 0, {.from = newest, .rerun = Rerun::kOverwrite});
    return outcome.error + outcome.out;
  };
  CHECK(begin("sgd") ==
        "note: --from: " + newest +
            ": 'adam/d1_bias_momentum' and 7 more are not taken, for neither the model nor its "
            "optimizer has them; the optimizer's steps go on from 6; --weights-only begins with a "
            "new optimizer\n");
  CHECK(begin("adam") == "");
  const std::string accumulates = begin("{SGD: {gradient_accumulation_steps: 2}}");
  CHECK(accumulates.find(": an update takes the gradients of 2 steps here, of 1 in " + newest +
                         "; configure the optimizer ") != std::string::npos);
  CHECK(begin("{Lamb: {}}")
            .ends_with("\nconfigure the optimizer and the precision of the checkpoint, or take the "
                       "weights alone with --weights-only"));
}

TEST_CASE("what only training sees may change, and is told of") {
  const TempDirectory directory;
  const std::string run = directory.file("run"), again = directory.file("again");
  REQUIRE(fit_on(kClassifier, "1x1", run).error == "");
  const std::string newest = checkpoints_in(run).back();
  const auto told = [&](const std::string& from, const std::string& to) {
    fs::remove_all(again);
    fs::copy(run, again, fs::copy_options::recursive);
    const Outcome outcome =
        resume(changed(changed(kClassifier, "epochs: 2", "epochs: 3"), from, to), "1x1", again);
    CHECK(outcome.error == "");
    const std::size_t at = outcome.out.find("note: ");
    if (at == std::string::npos) return std::string();
    CHECK(outcome.out.find("; to keep that run as it is, begin a new one with --new --from " +
                           again) != std::string::npos);
    return outcome.out.substr(at, outcome.out.find("; to keep") - at);
  };
  CHECK(told("rate: 0.2", "rate: 0.5") ==
        "note: layer 'drop' is 'Dropout: {rate: 0.5}' from here on; it was 'Dropout: {rate: 0.2}' "
        "in the run that is resumed");
  CHECK(told("units: 5}", "units: 5, trainable: false}") ==
        "note: layer 'd2' is 'Dense: {units: 5}, trainable: false' from here on; it was "
        "'Dense: {units: 5}' in the run that is resumed");
  CHECK(told("l2: 0.01", "l2: 0.02").starts_with("note: layer 'd1' is 'Dense: {units: 7, "));
  CHECK(told("  input:", "  freeze: [d1]\n  input:") ==
        "note: freeze is '[d1]' from here on; it was '[]' in the run that is resumed");
  CHECK(told("beta_1: 0.9", "beta_1: 0.8") ==
        "note: optimizer is 'Adam: {beta_1: 0.8}' from here on; it was 'Adam: {beta_1: 0.9}' in "
        "the run that is resumed");
  CHECK(told("mesh:", "precision: mixed_bfloat16\nmesh:") ==
        "note: precision is 'mixed_bfloat16' from here on; it was 'float32' in the run that is "
        "resumed");
  const Outcome other_seed = resume(changed(kClassifier, "mesh:", "seed: 5\nmesh:"), "1x1", run);
  CHECK(other_seed.error.starts_with(newest + ": seed is 5 here, 1337 in the run"));
  CHECK(other_seed.out.find("note: ") == std::string::npos);
  // Other words for the same, and what a run may change without a word.
  CHECK(told("{SparseCategoricalCrossentropy: {from_logits: true}}",
             "{sparse_categorical_crossentropy: {from_logits: true, name: l}}") == "");
  CHECK(told("units: 5}", "units: 5, activation: linear, use_bias: true}") == "");
  CHECK(told("units: 5}", "units: 5, kernel_initializer: zeros}") == "");
  CHECK(told("[accuracy]", "[]") == "");
}

TEST_CASE("training images may be changed otherwise, and that is told of; masked tokens may not") {
  const TempDirectory directory;
  const std::string images = R"(
dataset:
  name: t
  format: synthetic
  splits: {train: {x: {normal: [8, 4, 4, 1]}, y: {normal: [8, 2]}}}
  x: {augment: [RandomFlip]}
model: {input: [4, 4, 1], layers: [Flatten, Dense: {units: 2}]}
compile: {optimizer: sgd, loss: mse}
fit: {batch_size: 4, epochs: 1}
)";
  const std::string run = directory.file("run");
  REQUIRE(fit_on(images, "1", run).error == "");
  const Outcome other =
      resume(changed(changed(images, "epochs: 1", "epochs: 2"), "[RandomFlip]", "[]"), "1", run);
  CHECK(other.error == "");
  CHECK(other.out.find("note: dataset.x.augment is '[]' from here on; it was '[RandomFlip]' in the "
                       "run that is resumed") != std::string::npos);

  const std::string tokens = R"(
dataset:
  name: t
  format: text
  files: text.txt
  context: 4
  splits: {train: 1}
  mask_tokens: {vocabulary_size: 9, mask_token_id: 8, mask_selection_rate: 0.5}
model:
  input: {shape: [4], dtype: int32}
  layers: [Embedding: {input_dim: 9, output_dim: 3}, Dense: {units: 9}]
compile: {optimizer: sgd, loss: {SparseCategoricalCrossentropy: {from_logits: true, ignore_class: -1}}}
fit: {batch_size: 4, epochs: 1}
)";
  test::write_text(directory.file("text.txt"), "abcdefgh hgfedcba abcdefgh");
  const std::string here = changed(tokens, "text.txt", directory.file("text.txt"));
  const std::string masked = directory.file("masked");
  REQUIRE(fit_on(here, "1", masked).error == "");
  const Outcome more = resume(
      changed(changed(here, "epochs: 1", "epochs: 2"), "rate: 0.5", "rate: 0.9"), "1", masked);
  CHECK(more.error.find("dataset.mask_tokens is '{vocabulary_size: 9, mask_token_id: 8, "
                        "mask_selection_rate: 0.9}' here") != std::string::npos);
}
