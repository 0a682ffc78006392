// Whole runs, with what happens beside training, on one device and on several.
#include "train/fit.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <mutex>
#include <optional>
#include <sstream>

#include "base/error.h"
#include "state/safetensors.h"
#include "support/temp_directory.h"
#include "support/training.h"

using namespace meshwork;
using meshwork::test::read_text;
using meshwork::test::TempDirectory;
using meshwork::testing::job_of;

namespace {

const std::vector<std::string> kMeshes{"1x1", "2x2", "3x1", "1x5"};

/// A regression with every layout, whose optimizer and `fit` are given.
std::string text_of(const std::string& optimizer, const std::string& fit,
                    const std::string& metrics = "[mae]") {
  return fmt::format(R"(
mesh: {{data: 1, model: 1}}
layout_map: {{'a/kernel': [null, model], 'a/bias': [model], 'b/kernel': [model, null]}}
optimizer_layout: {{'a/kernel': [data, null]}}
dataset:
  name: t
  format: synthetic
  splits:
    train: {{x: {{normal: [22, 6]}}, y: {{normal: [22, 3]}}}}
    test: {{x: {{normal: [9, 6]}}, y: {{normal: [9, 3]}}}}
model:
  input: [6]
  layers:
    - Dense: {{name: a, units: 7, activation: tanh}}
    - Dense: {{name: b, units: 3}}
compile: {{optimizer: {}, loss: mse, metrics: {}}}
fit: {{{}}}
)",
                     optimizer, metrics, fit);
}

struct Outcome {
  FitResult result;
  std::string error;  ///< "" if all went well
  std::string out;    ///< what the first device printed
};

Outcome fit_on(const std::string& text, const std::string& mesh, const std::string& directory,
               int verbose = 0) {
  Job job = job_of(text + "run_directory: " + directory + "\n", mesh);
  job.target.threads = 1;
  prepare_fit(job);
  Outcome outcome;
  std::mutex mutex;
  try {
    run_on_devices(job, [&](const World& world) {
      std::ostringstream out;
      const auto keep = [&](const std::optional<FitResult>& result) {
        const std::lock_guard lock(mutex);
        if (world.hosts->rank() != 0) return;
        if (result) outcome.result = *result;
        outcome.out = out.str();
      };
      try {
        keep(fit(job, world, {.verbose = verbose}, out));
      } catch (const Error&) {
        keep(std::nullopt);
        throw;
      }
    });
  } catch (const Error& error) {
    CHECK(error.code() == ExitCode::kTraining);
    outcome.error = error.what();
  }
  return outcome;
}

/// All weights of a file, one after the other.
std::vector<float> weights_in(const std::string& file) {
  const SafetensorsFile stored(file);
  std::vector<float> all;
  for (const StoredTensor& tensor : stored.tensors()) {
    std::vector<float> values(static_cast<std::size_t>(num_elements(tensor.shape)));
    stored.read({tensor.path, DType::kFloat32, tensor.shape}, whole_window(tensor.shape),
                tensor.shape, reinterpret_cast<std::byte*>(values.data()));
    all.insert(all.end(), values.begin(), values.end());
  }
  return all;
}

double difference(const std::vector<float>& a, const std::vector<float>& b) {
  REQUIRE(a.size() == b.size());
  double worst = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    worst = std::max(worst, std::abs(static_cast<double>(a[i]) - static_cast<double>(b[i])));
  }
  return worst;
}

std::vector<std::vector<std::string>> cells_of(const std::string& csv) {
  std::vector<std::vector<std::string>> rows;
  std::istringstream lines(csv);
  for (std::string line; std::getline(lines, line);) {
    rows.emplace_back();
    std::istringstream cells(line);
    for (std::string cell; std::getline(cells, cell, ',');) rows.back().push_back(cell);
  }
  return rows;
}

/// The same words in the same places, and numbers but for the last digits.
void check_same_table(const std::string& a, const std::string& b) {
  const auto left = cells_of(a);
  const auto right = cells_of(b);
  REQUIRE(left.size() == right.size());
  for (std::size_t i = 0; i < left.size(); ++i) {
    REQUIRE(left[i].size() == right[i].size());
    for (std::size_t j = 0; j < left[i].size(); ++j) {
      const bool is_number = i > 0 && left[i][j] != "NA" && right[i][j] != "NA";
      if (is_number) {
        CHECK(std::stod(left[i][j]) == doctest::Approx(std::stod(right[i][j])).epsilon(1e-5));
      } else {
        CHECK(left[i][j] == right[i][j]);
      }
    }
  }
}

/// Runs on every mesh; logs and weights must be those of one device, whose directory is "1x1".
void check_every_mesh(const std::string& text, const TempDirectory& directory) {
  for (const std::string& mesh : kMeshes) {
    CAPTURE(mesh);
    CHECK(fit_on(text, mesh, directory.file(mesh)).error == "");
    check_same_table(read_text(directory.file("1x1/metrics.csv")),
                     read_text(directory.file(mesh + "/metrics.csv")));
    CHECK(difference(weights_in(directory.file("1x1/final.safetensors")),
                     weights_in(directory.file(mesh + "/final.safetensors"))) < 1e-5);
  }
}

}  // namespace

TEST_CASE("callbacks decide alike on every mesh, and the best weights come back") {
  const TempDirectory directory;
  check_every_mesh(text_of("{Adam: {learning_rate: 0.2}}",
                           "batch_size: 8, epochs: 12, validation: true, callbacks: ["
                           "ReduceLROnPlateau: {patience: 1, factor: 0.5}, "
                           "ModelCheckpoint: {filepath: 'best.safetensors', save_best_only: true}, "
                           "CSVLogger: {filename: 'log.csv'}, TerminateOnNaN, "
                           "EarlyStopping: {patience: 3, restore_best_weights: true}]"),
                   directory);
  for (const std::string& mesh : kMeshes) {
    CAPTURE(mesh);
    const auto rows = cells_of(read_text(directory.file(mesh + "/metrics.csv")));
    CHECK(rows[0] ==
          std::vector<std::string>{"epoch", "learning_rate", "loss", "mae", "val_loss", "val_mae"});
    CHECK(rows.size() > 4);
    CHECK(rows.size() < 12);  // it has stopped
    CHECK(std::stod(rows.back()[1]) < 0.2);
    CHECK(read_text(directory.file(mesh + "/final.safetensors")) ==
          read_text(directory.file(mesh + "/best.safetensors")));
    CHECK(cells_of(read_text(directory.file(mesh + "/log.csv"))).size() == rows.size());
  }
}

TEST_CASE("gradients of several steps are those of one large batch") {
  const TempDirectory directory;
  const auto text = [](const std::string& arguments, const std::string& fit) {
    return text_of("{SGD: {learning_rate: 0.1, momentum: 0.9" + arguments + "}}",
                   "shuffle: false, " + fit);
  };
  const auto weights = [&](const std::string& name) {
    return weights_in(directory.file(name + "/final.safetensors"));
  };
  CHECK(fit_on(text("", "epochs: 3, batch_size: 22"), "1x1", directory.file("whole")).error == "");
  CHECK(fit_on(text("", "epochs: 0"), "1x1", directory.file("initial")).error == "");
  check_every_mesh(text(", gradient_accumulation_steps: 2", "epochs: 3, batch_size: 11"),
                   directory);
  CHECK(difference(weights("whole"), weights("1x1")) < 1e-6);
  CHECK(difference(weights("whole"), weights("initial")) > 0.01);
  // Six steps: gradients that wait for a seventh are not applied, over epochs they are.
  for (const char* steps : {"7", "6"}) {
    const std::string never =
        text(fmt::format(", gradient_accumulation_steps: {}", steps), "epochs: 3, batch_size: 11");
    CHECK(fit_on(never, "2x2", directory.file(steps)).error == "");
  }
  CHECK(weights("7") == weights("initial"));
  CHECK(difference(weights("6"), weights("initial")) > 0.01);
}

TEST_CASE("the average of the weights is what a run ends with") {
  const TempDirectory directory;
  check_every_mesh(text_of("{SGD: {learning_rate: 0.3, use_ema: true, ema_momentum: 0.75}}",
                           "epochs: 1, batch_size: 8, callbacks: [ModelCheckpoint: {filepath: "
                           "'{batch}.safetensors', save_freq: 1}]"),
                   directory);
  for (const std::string& mesh : kMeshes) {
    CAPTURE(mesh);
    const auto weights = [&](const std::string& name) {
      return weights_in(directory.file(mesh + "/" + name + ".safetensors"));
    };
    std::vector<float> average = weights("1");
    for (const char* step : {"2", "3"}) {
      const std::vector<float> now = weights(step);
      for (std::size_t i = 0; i < now.size(); ++i) average[i] = .75F * average[i] + .25F * now[i];
    }
    CHECK(difference(average, weights("final")) < 1e-6);
    CHECK(difference(average, weights("3")) > 1e-3);
  }
}

TEST_CASE("accumulated gradients and averages at once, in the middle of a run, on every mesh") {
  const TempDirectory directory;
  check_every_mesh(text_of("{Adam: {learning_rate: 0.05, gradient_accumulation_steps: 3, use_ema: "
                           "true, ema_momentum: 0.5, ema_overwrite_frequency: 2}}",
                           "epochs: 4, batch_size: 5, validation: true"),
                   directory);
}

TEST_CASE(
    "moving statistics go on in the steps that only accumulate, and come back with the best") {
  const auto text = [](const std::string& arguments, const std::string& fit) {
    std::string all = text_of("{SGD: {learning_rate: " + arguments + "}}", fit);
    const std::string before = "    - Dense: {name: b";
    return all.insert(all.find(before), "    - BatchNormalization: {name: n}\n");
  };
  const TempDirectory directory;
  check_every_mesh(text("0.1, gradient_accumulation_steps: 4, use_ema: true",
                        "epochs: 3, batch_size: 8, validation: true, callbacks: [ModelCheckpoint: "
                        "{filepath: best.safetensors, save_best_only: true, mode: max}, "
                        "EarlyStopping: {mode: max, patience: 5, restore_best_weights: true}]"),
                   directory);
  CHECK(read_text(directory.file("2x2/final.safetensors")) ==
        read_text(directory.file("2x2/best.safetensors")));
  // Nine steps without an update move the statistics, and nothing else.
  const std::string none = "epochs: 0, batch_size: 8";
  const std::string three = "epochs: 3, batch_size: 8";
  fit_on(text("0.1", none), "2x2", directory.file("initial"));
  fit_on(text("0.1, gradient_accumulation_steps: 10", three), "2x2", directory.file("moved"));
  fit_on(text("0.0", three), "2x2", directory.file("still"));
  CHECK(read_text(directory.file("moved/final.safetensors")) ==
        read_text(directory.file("still/final.safetensors")));
  CHECK(read_text(directory.file("moved/final.safetensors")) !=
        read_text(directory.file("initial/final.safetensors")));
}

TEST_CASE("a loss that is no number: the epoch has its row, the run fails") {
  const TempDirectory directory;
  const std::string hot = "{SGD: {learning_rate: 1e30}}";
  const auto text = [&](const std::string& callbacks) {
    return text_of(hot,
                   "batch_size: 8, epochs: 3, log_steps: true, callbacks: [" + callbacks + "]");
  };
  const auto has_weights = [&](const std::string& name) {
    return std::filesystem::exists(directory.file(name + "/final.safetensors"));
  };
  const auto steps = [&](const std::string& name) {
    return cells_of(read_text(directory.file(name + "/steps.csv"))).size() - 1;
  };
  for (const std::string mesh : {"1x1", "2x2"}) {
    CAPTURE(mesh);
    const auto run = [&](const std::string& name, const std::string& callbacks) {
      return fit_on(text(callbacks), mesh, directory.file(name + mesh));
    };
    CHECK(run("plain", "").error.starts_with("epoch 1, step "));
    CHECK(cells_of(read_text(directory.file("plain" + mesh + "/metrics.csv"))).size() == 2);
    CHECK(steps("plain" + mesh) == 3);
    CHECK_FALSE(has_weights("plain" + mesh));
    const Outcome ended = run("ended", "TerminateOnNaN");
    CHECK(ended.error.starts_with("epoch 1, step 2: the loss is "));
    CHECK(ended.out == "Batch 1: Invalid loss, terminating training\n");
    CHECK(steps("ended" + mesh) == 2);
    CHECK(cells_of(read_text(directory.file("ended" + mesh + "/metrics.csv"))).size() == 2);
    CHECK_FALSE(has_weights("ended" + mesh));
    const Outcome at_once =
        run("at_once", "EarlyStopping: {monitor: loss, restore_best_weights: true}");
    CHECK(at_once.error.find("best epoch") == std::string::npos);
    CHECK_FALSE(has_weights("at_once" + mesh));
    CHECK(run("raised", "TerminateOnNaN: {raise_error: true}")
              .error.starts_with("NaN or Inf loss encountered at batch 1; "));
  }
}

TEST_CASE("after a loss that is no number the best weights are kept, if they were wanted") {
  const TempDirectory directory;
  for (const std::string mesh : {"1x1", "3x1"}) {
    const std::string run = directory.file(mesh);
    const Outcome outcome =
        fit_on(text_of("{SGD: {learning_rate: 0.1}}",
                       "batch_size: 8, epochs: 9, callbacks: [LearningRateScheduler: {schedule: "
                       "{0: 0.1, 2: 1e30}}, TerminateOnNaN, ModelCheckpoint: {filepath: "
                       "'{epoch}.safetensors'}, EarlyStopping: {monitor: loss, patience: 5, "
                       "restore_best_weights: true}]"),
               mesh, run);
    CHECK(outcome.error.starts_with("epoch 3, step 2: the loss is "));
    CHECK(outcome.error.ends_with("; the weights of the best epoch are in " + run +
                                  "/final.safetensors"));
    CHECK(read_text(run + "/final.safetensors") == read_text(run + "/2.safetensors"));
  }
}

TEST_CASE("a learning rate of 0 changes nothing; the schedule is seen in the logs") {
  const TempDirectory directory;
  const std::string text =
      text_of("{SGD: {learning_rate: 0.1}}",
              "batch_size: 8, epochs: 3, callbacks: [LearningRateScheduler: {schedule: [0, 0, "
              "0.25]}, ModelCheckpoint: {filepath: '{epoch}.safetensors'}]");
  const Outcome outcome = fit_on(text, "2x2", directory.path(), 2);
  CHECK(read_text(directory.file("1.safetensors")) == read_text(directory.file("2.safetensors")));
  CHECK(read_text(directory.file("2.safetensors")) != read_text(directory.file("3.safetensors")));
  const auto rows = cells_of(read_text(directory.file("metrics.csv")));
  CHECK(rows[0][1] == "learning_rate");
  CHECK(rows[1][1] == "0");
  CHECK(rows[3][1] == "0.25");
  CHECK(outcome.out.find(" - learning_rate: 0.2500 - loss: ") != std::string::npos);
}

TEST_CASE("validation at times, in part, in batches of its own") {
  const TempDirectory directory;
  const std::string text = text_of("adam",
                                   "batch_size: 8, initial_epoch: 2, epochs: 6, validation: true, "
                                   "validation_freq: 2, validation_batch_size: 4, "
                                   "validation_steps: 2");
  check_every_mesh(text, directory);
  const auto rows = cells_of(read_text(directory.file("1x1/metrics.csv")));
  REQUIRE(rows.size() == 5);
  for (std::size_t i = 1; i < rows.size(); ++i) {
    CHECK(rows[i][0] == std::to_string(i + 1));
    CHECK((rows[i][3] == "NA") == (i % 2 == 1));
  }
  // The first eight samples, every time; more steps than there are batches are all of them.
  const auto last_loss = [&](const std::string& fit) {
    const std::string frozen = "{SGD: {learning_rate: 0.0}}";
    const Outcome outcome = fit_on(text_of(frozen, "batch_size: 8, epochs: 3, " + fit), "1x1",
                                   directory.file("validation"));
    return outcome.result.logs.at("val_loss");
  };
  const double part = last_loss("validation: true, validation_steps: 1");
  const double whole = last_loss("validation: true");
  CHECK(part == doctest::Approx(last_loss("validation: true, validation_batch_size: 4, "
                                          "validation_steps: 2")));
  CHECK(part != doctest::Approx(whole));
  CHECK(whole == doctest::Approx(last_loss("validation: true, validation_steps: 7")));
  CHECK(whole == doctest::Approx(last_loss("validation_freq: [3], validation: true")));
}

TEST_CASE("steps_per_epoch without a batch size divides the data, as in Keras") {
  const auto batch = [](const std::string& fit) {
    return job_of(text_of("adam", fit), "1x1").config.fit.batch_size;
  };
  CHECK(batch("steps_per_epoch: 4") == 6);
  CHECK(batch("steps_per_epoch: 40") == 1);
  CHECK(batch("steps_per_epoch: 4, batch_size: 3") == 3);
  CHECK(batch("epochs: 1") == 32);
  const TempDirectory directory;
  const Outcome outcome = fit_on(text_of("adam",
                                         "steps_per_epoch: 5, batch_size: 8, epochs: 2, "
                                         "log_steps: true"),
                                 "2x2", directory.path(), 2);
  CHECK(cells_of(read_text(directory.file("steps.csv"))).size() == 11);
  CHECK(outcome.out.find("\n5/5 - ") != std::string::npos);
}

TEST_CASE("an epoch that meets the end of the data goes on with the next pass, and says so once") {
  const TempDirectory directory;
  const auto printed = [&](const std::string& fit, const std::string& mesh = "1x1") {
    return fit_on(text_of("adam", "batch_size: 8, " + fit), mesh, directory.path()).out;
  };
  const auto warning = [](int steps, int step, int epoch) {
    return fmt::format(
        "test.yaml:17:6: warning: fit: steps_per_epoch is {}, but the data end after step {} of "
        "epoch "
        "{}; the epoch goes on with the next pass over them, where Keras ends it; leave "
        "steps_per_epoch out for epochs of one pass\n",
        steps, step, epoch);
  };
  // 22 samples are three batches.
  CHECK(printed("steps_per_epoch: 5, epochs: 3", "2x2") == warning(5, 3, 1));
  CHECK(printed("steps_per_epoch: 2, epochs: 3") == warning(2, 1, 2));
  CHECK(printed("steps_per_epoch: 2, epochs: 1") == "");
  CHECK(printed("steps_per_epoch: 1, epochs: 4") == "");
  CHECK(printed("steps_per_epoch: 3, epochs: 2") == "");
  CHECK(printed("epochs: 2") == "");
  CHECK(printed("steps_per_epoch: 2, epochs: 2, drop_remainder: true") == "");
  CHECK(printed("steps_per_epoch: 2, initial_epoch: 1, epochs: 2") == warning(2, 1, 2));
}

TEST_CASE("initial_epoch goes on with the data where earlier epochs ended") {
  const TempDirectory directory;
  const std::string frozen = "{SGD: {learning_rate: 0.0}}";
  const auto steps = [&](const std::string& name, const std::string& fit) {
    CHECK(fit_on(text_of(frozen, "batch_size: 8, log_steps: true, " + fit), "1x1",
                 directory.file(name))
              .error == "");
    return cells_of(read_text(directory.file(name + "/steps.csv")));
  };
  const auto all = steps("all", "epochs: 3");
  const auto last = steps("last", "epochs: 3, initial_epoch: 2");
  REQUIRE(all.size() == 10);
  REQUIRE(last.size() == 4);
  for (std::size_t i = 1; i < 4; ++i) CHECK(last[i][1] == all[6 + i][1]);
}

TEST_CASE("samples of weight 0 might as well not be there") {
  const TempDirectory directory;
  const auto text = [](const std::string& weights, const std::string& fit) {
    return fmt::format(R"(
mesh: {{data: 1, model: 1}}
layout_map: {{'d/kernel': [null, model]}}
dataset:
  name: t
  format: synthetic
  splits:
    train: {{x: {{normal: [20, 4]}}, y: {{integers: [20], below: 3}}{}}}
model: {{input: [4], layers: [Dense: {{name: d, units: 3}}]}}
compile:
  optimizer: {{SGD: {{learning_rate: 0.1}}}}
  loss: {{SparseCategoricalCrossentropy: {{from_logits: true}}}}
  metrics: [accuracy]
  weighted_metrics: [accuracy, SparseCategoricalCrossentropy: {{from_logits: true}}]
fit: {{batch_size: 8, epochs: 2, validation_split: 0.4{}}}
)",
                       weights, fit);
  };
  const auto logs = [&](const std::string& weights, const std::string& fit,
                        const std::string& mesh) {
    const Outcome outcome = fit_on(text(weights, fit), mesh, directory.file("run"));
    CHECK(outcome.error == "");
    return outcome.result;
  };
  const FitResult still = logs("", ", class_weight: {0: 0, 1: 0, 2: 0}", "2x2");
  CHECK(still.logs.at("loss") == 0);
  CHECK(still.logs.at("val_loss") > 0.1);  // classes have no weight in validation
  CHECK(still.logs.at("accuracy") > 0);
  CHECK(still.logs.at("weighted_accuracy") == 0);  // nothing counts
  CHECK(still.logs.at("val_weighted_accuracy") == still.logs.at("val_accuracy"));
  const FitResult plain = logs("", "", "1x1");
  CHECK(logs("", ", class_weight: {}", "1x1").digest == plain.digest);
  CHECK(logs("", ", class_weight: {0: 1, 2: 1}", "1x1").digest == plain.digest);
  const FitResult one = logs(", sample_weight: {uniform: [20]}", "", "1x1");
  CHECK(one.digest != plain.digest);
  CHECK(one.logs.at("val_loss") < one.logs.at("val_sparse_categorical_crossentropy"));
  for (const char* mesh : {"2x2", "3x1", "1x3"}) {
    const FitResult many = logs(", sample_weight: {uniform: [20]}", "", mesh);
    for (const auto& [name, value] : one.logs) {
      CHECK(many.logs.at(name) == doctest::Approx(value).epsilon(1e-5));
    }
  }
}
