// Whole runs, with what happens beside training, on one device and on several.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <filesystem>

#include "state/checkpoint.h"
#include "support/errors.h"
#include "train/evaluate.h"
#include "train/run_files.h"
#include "whole_runs.h"

using namespace meshwork;
using namespace meshwork::testing::runs;
using meshwork::test::read_log;
using meshwork::test::read_text;
using meshwork::test::TempDirectory;

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
    const auto rows = cells_of(read_log(directory.file(mesh + "/metrics.csv")));
    CHECK(rows[0] ==
          std::vector<std::string>{"epoch", "learning_rate", "loss", "mae", "val_loss", "val_mae"});
    CHECK(rows.size() > 4);
    CHECK(rows.size() < 12);  // it has stopped
    CHECK(std::stod(rows.back()[1]) < 0.2);
    CHECK(read_text(directory.file(mesh + "/final.safetensors")) ==
          read_text(directory.file(mesh + "/best.safetensors")));
    CHECK(cells_of(read_log(directory.file(mesh + "/log.csv"))).size() == rows.size());
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

TEST_CASE(
    "SwapEMAWeights shows averages to validation and to callbacks behind it, not to training") {
  const TempDirectory directory;
  const auto text = [](int epochs, const std::string& swap, const std::string& precision = "") {
    return precision +
           text_of("{SGD: {learning_rate: 0.3, use_ema: true, ema_momentum: 0.75}}",
                   fmt::format("epochs: {}, batch_size: 8, validation: true, callbacks: "
                               "[{}ModelCheckpoint: {{filepath: '{{epoch}}.safetensors'}}]",
                               epochs, swap));
  };
  for (const std::string precision : {"", "precision: mixed_bfloat16\n"}) {
    CAPTURE(precision);
    const auto run = [&](int epochs, const std::string& swap, const std::string& name) {
      const Outcome outcome = fit_on(text(epochs, swap, precision), "2x2", directory.file(name));
      REQUIRE(outcome.error == "");
      return outcome.result;
    };
    const auto weights = [&](const std::string& file) {
      return weights_in(directory.file(file + ".safetensors"));
    };
    const FitResult plain = run(3, "", "plain");
    const FitResult swapped = run(3, "SwapEMAWeights, ", "swapped");
    const FitResult both = run(3, "SwapEMAWeights: {swap_on_epoch: true}, ", "both");
    const FitResult two = run(2, "SwapEMAWeights, ", "two");
    CHECK(swapped.digest == plain.digest);
    CHECK(both.digest == plain.digest);
    CHECK(weights("swapped/2") == weights("plain/2"));
    CHECK(weights("both/2") == weights("two/final"));
    CHECK(weights("both/3") == weights("both/final"));
    CHECK(difference(weights("both/2"), weights("plain/2")) > 1e-3);

    // What validation says of the averages, it says of them as weights.
    const Outcome again =
        fit_on(precision + text_of("{SGD: {learning_rate: 0.0}}",
                                   "epochs: 1, batch_size: 8, validation: true"),
               "2x2", directory.file("again"), 0,
               {.from = directory.file("two/final.safetensors"), .rerun = Rerun::kOverwrite});
    CHECK(again.result.logs.at("val_loss") == two.logs.at("val_loss"));
    CHECK(swapped.logs.at("val_loss") != plain.logs.at("val_loss"));
    CHECK(both.logs == swapped.logs);
  }
  check_every_mesh(text(2, "SwapEMAWeights: {swap_on_epoch: true}, "), directory);
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
    return cells_of(read_log(directory.file(name + "/steps.csv"))).size() - 1;
  };
  for (const std::string mesh : {"1x1", "2x2"}) {
    CAPTURE(mesh);
    const auto run = [&](const std::string& name, const std::string& callbacks) {
      return fit_on(text(callbacks), mesh, directory.file(name + mesh));
    };
    CHECK(run("plain", "").error.starts_with("epoch 1, step "));
    CHECK(cells_of(read_log(directory.file("plain" + mesh + "/metrics.csv"))).size() == 2);
    CHECK(steps("plain" + mesh) == 3);
    CHECK_FALSE(has_weights("plain" + mesh));
    const Outcome ended = run("ended", "TerminateOnNaN");
    CHECK(ended.error.starts_with("epoch 1, step 2: the loss is "));
    CHECK(ended.out == "Batch 1: Invalid loss, terminating training\n");
    CHECK(steps("ended" + mesh) == 2);
    CHECK(cells_of(read_log(directory.file("ended" + mesh + "/metrics.csv"))).size() == 2);
    CHECK_FALSE(has_weights("ended" + mesh));
    const Outcome at_once =
        run("at_once", "EarlyStopping: {monitor: loss, restore_best_weights: true}");
    CHECK(at_once.error.find("best epoch") == std::string::npos);
    CHECK_FALSE(has_weights("at_once" + mesh));
    CHECK(run("raised", "TerminateOnNaN: {raise_error: true}")
              .error.starts_with("NaN or Inf loss encountered at batch 1; "));
  }
}

TEST_CASE("a loss that is no number takes no checkpoint away that is sound") {
  const TempDirectory directory;
  const auto text = [](const std::string& every) {
    return text_of(
               "{SGD: {learning_rate: {PiecewiseConstantDecay: {boundaries: [3], values: "
               "[0.01, 1e30]}}}}",
               "batch_size: 2, epochs: 1") +
           "checkpoint: {keep: 2, every: " + every + "}\n";
  };
  for (const std::string mesh : {"1x1", "2x2"}) {
    CAPTURE(mesh);
    const std::string run = directory.file(mesh);
    const Outcome outcome = fit_on(text("1 step"), mesh, run);
    CHECK(outcome.error.starts_with("epoch 1, step 6: the loss is "));
    CHECK(outcome.out ==
          "warning: epoch 1, step 6: the loss is no number; no checkpoint is written any more, and "
          "those that are there stay\n");
    CHECK(list_checkpoints(run + "/checkpoints") ==
          std::vector<std::string>{run + "/checkpoints/step-4", run + "/checkpoints/step-5"});
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

TEST_CASE("steps whose gradients overflow are left out alike on every mesh") {
  const TempDirectory directory;
  const auto text = [](const std::string& inner) {
    return text_of(fmt::format("{{LossScaleOptimizer: {{inner_optimizer: {}, initial_scale: "
                               "3.0e+38, dynamic_growth_steps: 2}}}}",
                               inner),
                   "epochs: 4, batch_size: 8");
  };
  check_every_mesh(text("{Adam: {learning_rate: 0.05, global_clipnorm: 0.3}}"), directory);
  check_every_mesh(
      text("{SGD: {learning_rate: {CosineDecay: {initial_learning_rate: 0.1, decay_steps: 9}}, "
           "momentum: 0.9, gradient_accumulation_steps: 2, use_ema: true, ema_momentum: 0.7}}"),
      directory);
}

TEST_CASE("all that a run leaves in its directory has a name that callbacks may not take") {
  const TempDirectory directory;
  const std::string run = directory.file("run");
  const std::string text = text_of("{SGD: {learning_rate: 0.1}}",
                                   "batch_size: 8, epochs: 1, log_steps: true, log_format: [csv, "
                                   "jsonl]") +
                           "checkpoint: {every: 1 epoch}\n";
  CHECK(fit_on(text, "2x2", run).error == "");
  int entries = 0;
  for (const auto& entry : std::filesystem::directory_iterator(run)) {
    CAPTURE(entry.path().string());
    CHECK(is_of_run(entry.path().filename().string()));
    ++entries;
  }
  CHECK(entries >= 9);  // weights, checkpoints, lock, config.yaml, memory.csv, logs
  CHECK_FALSE(is_of_run("log.csv"));
}

TEST_CASE("weights that a run removes meanwhile are not missed: the next ones are read") {
  const TempDirectory directory;
  const std::string text =
      text_of("{SGD: {learning_rate: 0.3}}", "epochs: 3, batch_size: 8", "[mae]") +
      "checkpoint: {every: 1 epoch, keep: 100}\n";
  const std::string run = directory.file("run");
  REQUIRE(fit_on(text, "1x1", run).error == "");
  std::filesystem::remove(run + "/final.safetensors");
  const std::vector<std::string> all = list_checkpoints(run + "/checkpoints");
  REQUIRE(all.size() == 3);
  const auto loss = [&](const std::function<GivenWeights(int)>& weights) {
    Job job = testing::job_of(text + "run_directory: " + run + "\n", "2x1");
    prepare_evaluate(job, evaluation_split(job, "test"));
    std::vector<double> losses(2);
    run_on_devices(job, [&](const World& world) {
      std::ostringstream out;
      const int rank = world.hosts->rank();
      losses[static_cast<std::size_t>(rank)] =
          evaluate(job, world, weights(rank), 0, out).logs.at("loss");
    });
    CHECK(losses[0] == losses[1]);
    return losses[0];
  };
  const GivenWeights newest = find_weights(run, false);
  CHECK(newest.path == all[2]);
  const double expected = loss([&](int) { return newest; });
  // Devices that have looked at different moments read what the first one has found.
  CHECK(loss([&](int rank) {
          return GivenWeights{all[rank == 0 ? 2 : 1], false, run};
        }) == expected);
  remove_checkpoint(all[0]);
  CHECK(loss([&](int) { return GivenWeights{all[0], false, run}; }) == expected);
  const std::string said = test::error_of([&] { loss([&](int) { return GivenWeights{all[0]}; }); });
  CHECK(said.find(all[0]) != std::string::npos);
}
