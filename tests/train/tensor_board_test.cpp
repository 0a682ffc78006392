// What TensorBoard gets of a run, and of one that goes on.
#include <doctest/doctest.h>

#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "event_files.h"
#include "scripted_logs.h"
#include "state/checkpoint.h"
#include "support/errors.h"
#include "support/full_disk.h"
#include "whole_runs.h"

namespace fs = std::filesystem;

using namespace meshwork;
using namespace meshwork::testing::events;
using namespace meshwork::testing::runs;
namespace scripted = meshwork::testing::scripted;
using meshwork::test::read_text;
using meshwork::test::TempDirectory;
using meshwork::test::write_text;

namespace {

std::string text_with(const std::string& arguments, const std::string& checkpoint = "false") {
  return text_of("{SGD: {learning_rate: 0.1}}",
                 "batch_size: 8, epochs: 3, validation: true, callbacks: [TensorBoard: {" +
                     arguments + "}]") +
         "checkpoint: " + checkpoint + "\n";
}

}  // namespace

TEST_CASE("TensorBoard writes on where the disk was full for a while") {
  const TempDirectory directory;
  const auto list = make_callbacks(scripted::config_of(scripted::text_of("TensorBoard")));
  Callback& board = *list.at(0);
  std::vector<std::string> said;
  Training training;
  training.run_directory = directory.path();
  training.current_rate = [] { return 0.5; };
  training.iterations = [] { return 3; };
  training.say = [&](const std::string& line) { said.push_back(line); };
  board.begin_training(training);
  Logs logs{{"loss", 0.25}};
  const auto fail = [&](std::int64_t epoch, rlim_t bytes) {
    const test::FullDisk full(bytes);
    board.end_epoch(epoch, logs, training);
  };
  fail(0, 3);
  board.end_epoch(1, logs, training);
  const std::string file = only_file_in(directory.file("logs/train"));
  const std::uint64_t bytes = fs::file_size(file);
  fail(2, bytes + 9);
  fail(3, bytes + 9);
  CHECK(board.state().at("files").at("train").at("bytes") == bytes);
  board.end_epoch(4, logs, training);
  CHECK(only_file_in(directory.file("logs/train")) == file);
  CHECK(scalars_in(file) == std::vector<Scalar>{{"epoch_learning_rate", 1, 0.5F},
                                                {"epoch_loss", 1, 0.25F},
                                                {"epoch_learning_rate", 4, 0.5F},
                                                {"epoch_loss", 4, 0.25F}});
  REQUIRE(said.size() == 1);
  CHECK(said[0].find("; training goes on, and scalars are missing until it can be written") !=
        std::string::npos);
}

TEST_CASE("TensorBoard begins another file behind one that others have changed") {
  const TempDirectory directory;
  const auto list = make_callbacks(scripted::config_of(scripted::text_of("TensorBoard")));
  Training training;
  training.run_directory = directory.path();
  training.current_rate = [] { return 0.5; };
  training.iterations = [] { return 3; };
  training.say = [](const std::string&) {};
  list[0]->begin_training(training);
  Logs logs{{"loss", 0.25}};
  list[0]->end_epoch(0, logs, training);
  const std::string first = only_file_in(directory.file("logs/train"));
  write_text(first, read_text(first) + "torn");
  {
    const test::FullDisk full(fs::file_size(first) + 9);
    list[0]->end_epoch(1, logs, training);
  }
  list[0]->end_epoch(2, logs, training);
  const std::string second = list[0]->state().at("files").at("train").at("name");
  CHECK(fs::path(first).filename().string() != second);
  CHECK(scalars_in(directory.file("logs/train/" + second)).size() == 2);
}

TEST_CASE("TensorBoard writes what it can beside what fails, and begins it later") {
  const TempDirectory directory;
  const std::string text = text_with("update_freq: epoch", "{every: 1 step, keep: 100}");
  const std::string run = directory.path();
  fs::create_directories(run + "/logs");
  write_text(run + "/logs/validation", "no directory");
  const Outcome failed = fit_on(text, "1x1", run);
  CHECK(failed.out.find("warning: ") != std::string::npos);
  fs::remove(run + "/logs/validation");
  const std::string first = only_file_in(run + "/logs/train");
  const std::vector<Scalar> before = scalars_in(first);
  CHECK(before.size() == 9);
  const std::vector<std::string> checkpoints = list_checkpoints(run + "/checkpoints");
  for (std::size_t i = 4; i < checkpoints.size(); ++i) remove_checkpoint(checkpoints[i]);
  REQUIRE(fit_on(text, "1x1", run, 0, {.rerun = Rerun::kResume}).error == "");
  CHECK(only_file_in(run + "/logs/train") == first);
  CHECK(scalars_in(first) == before);
  CHECK(scalars_in(only_file_in(run + "/logs/validation")).size() == 8);
}

TEST_CASE("a run that is overwritten leaves nothing in the folder of the next one") {
  const TempDirectory directory;
  const std::string run = directory.file("run"), elsewhere = directory.file("logs");
  for (const std::string& logs : {std::string("logs"), elsewhere}) {
    const std::string text = text_with("log_dir: '" + logs + "'"),
                      train = (fs::path(run) / logs / "train").string();
    REQUIRE(fit_on(text, "1x1", run).error == "");
    const std::string first = only_file_in(train);
    write_text(train + "/notes.txt", "another program's");
    REQUIRE(fit_on(text, "1x1", run).error == "");
    CHECK(fs::exists(first) == (logs == elsewhere));
    CHECK(fs::exists(train + "/notes.txt"));
    CHECK(std::distance(fs::directory_iterator(train), {}) == (logs == elsewhere ? 3 : 2));
  }
}

TEST_CASE("TensorBoard gets what Keras writes, from one device") {
  const TempDirectory directory;
  const Outcome outcome = fit_on(text_with("update_freq: 2"), "2x2", directory.path());
  REQUIRE(outcome.error == "");
  const std::vector<Scalar> train = scalars_in(only_file_in(directory.file("logs/train")));
  // Three batches an epoch: every second one of nine, counted from 1, and two logs of each.
  std::map<std::string, std::vector<std::uint64_t>> steps;
  for (const Scalar& scalar : train) steps[scalar.tag].push_back(scalar.step);
  CHECK(steps == decltype(steps){{"batch_loss", {2, 4, 6, 8}},
                                 {"batch_mae", {2, 4, 6, 8}},
                                 {"epoch_learning_rate", {0, 1, 2}},
                                 {"epoch_loss", {0, 1, 2}},
                                 {"epoch_mae", {0, 1, 2}}});
  CHECK(train.back().value == static_cast<float>(outcome.result.logs.at("mae")));
  const std::vector<Scalar> validation =
      scalars_in(only_file_in(directory.file("logs/validation")));
  CHECK(validation.size() == 12);
  CHECK(validation.back() == Scalar{"evaluation_mae_vs_iterations", 9,
                                    static_cast<float>(outcome.result.logs.at("val_mae"))});
}

TEST_CASE("by default epochs alone; steps per second where they are wanted") {
  const TempDirectory directory;
  REQUIRE(
      fit_on(text_with("log_dir: boards, write_steps_per_second: true"), "1x1", directory.path())
          .error == "");
  std::set<std::string> tags;
  for (const Scalar& scalar : scalars_in(only_file_in(directory.file("boards/train")))) {
    tags.insert(scalar.tag);
    if (scalar.tag == "epoch_steps_per_second") CHECK(scalar.value > 0);
  }
  CHECK(tags == std::set<std::string>{"epoch_learning_rate", "epoch_loss", "epoch_mae",
                                      "epoch_steps_per_second"});
  tags.clear();
  for (const Scalar& scalar : scalars_in(only_file_in(directory.file("boards/validation")))) {
    tags.insert(scalar.tag);
  }
  CHECK(tags == std::set<std::string>{"epoch_loss", "epoch_mae", "evaluation_loss_vs_iterations",
                                      "evaluation_mae_vs_iterations"});
}

TEST_CASE("TensorBoard gets the learning rate after each epoch, also that of a schedule") {
  const TempDirectory directory;
  const auto rates = [&](const std::string& optimizer, const std::string& callbacks) {
    const std::string text =
        text_of(optimizer, "batch_size: 8, epochs: 2, callbacks: [" + callbacks + "]");
    REQUIRE(fit_on(text, "1x1", directory.path()).error == "");
    std::vector<float> found;
    for (const Scalar& scalar : scalars_in(only_file_in(directory.file("logs/train")))) {
      if (scalar.tag == "epoch_learning_rate") found.push_back(scalar.value);
    }
    fs::remove_all(directory.file("logs"));
    return found;
  };
  // Three steps an epoch.
  CHECK(rates("{SGD: {learning_rate: {PiecewiseConstantDecay: {boundaries: [2, 5], values: [0.5, "
              "0.25, 0.125]}}}}",
              "TensorBoard") == std::vector<float>{0.25F, 0.125F});
  CHECK(rates("{SGD: {learning_rate: 0.0625}}",
              "ReduceLROnPlateau: {monitor: loss, mode: max, patience: 1, factor: 0.5}, "
              "TensorBoard") == std::vector<float>{0.0625F, 0.03125F});
}

TEST_CASE("a run that goes on adds to the files it began") {
  const TempDirectory directory;
  const std::string text = text_with("update_freq: batch", "{every: 1 step, keep: 100}");
  const std::string run = directory.path();
  REQUIRE(fit_on(text, "1x1", run).error == "");
  const std::string file = only_file_in(run + "/logs/train");
  const std::vector<Scalar> whole = scalars_in(file);
  const std::vector<std::string> checkpoints = list_checkpoints(run + "/checkpoints");
  for (std::size_t i = 4; i < checkpoints.size(); ++i) remove_checkpoint(checkpoints[i]);
  REQUIRE(fit_on(text, "1x1", run, 0, {.rerun = Rerun::kResume}).error == "");
  CHECK(only_file_in(run + "/logs/train") == file);
  CHECK(scalars_in(file) == whole);
}

TEST_CASE("files that were begun behind the checkpoint of a run that goes on are not there twice") {
  const TempDirectory directory;
  const std::string run = directory.file("run");
  for (const std::string& logs : {run + "/logs", directory.file("elsewhere")}) {
    CAPTURE(logs);
    const std::string text = text_with(logs == run + "/logs" ? "" : "log_dir: '" + logs + "'",
                                       "{every: 1 step, keep: 100}");
    // Of another run; another program's.
    fs::create_directories(logs + "/train");
    const std::vector<std::string> theirs{logs + "/train/events.out.tfevents.1.before",
                                          logs + "/train/notes.txt"};
    for (const std::string& file : theirs) write_text(file, "");
    const auto scalars = [&] {
      std::map<std::string, std::vector<Scalar>> all;
      for (const std::string folder : {"train", "validation"}) {
        for (const auto& entry : fs::directory_iterator(logs + "/" + folder)) {
          if (fs::file_size(entry.path()) == 0) continue;
          for (const Scalar& scalar : scalars_in(entry.path().string())) {
            all[folder].push_back(scalar);
          }
        }
      }
      return all;
    };
    REQUIRE(fit_on(text, "1x1", run, 0, {}).error == "");
    const auto whole = scalars();
    // Within the first epoch there is no file yet.
    for (const std::size_t step : {5, 1, 0}) {
      const std::vector<std::string> checkpoints = list_checkpoints(run + "/checkpoints");
      for (std::size_t i = step + 1; i < checkpoints.size(); ++i) remove_checkpoint(checkpoints[i]);
      REQUIRE(fit_on(text, "1x1", run, 0, {.rerun = Rerun::kResume}).error == "");
      CHECK(scalars() == whole);
      for (const std::string& file : theirs) CHECK(fs::exists(file));
    }
    fs::remove_all(run);
  }
}

TEST_CASE("a copy of a run leaves the files of the run alone") {
  const TempDirectory directory;
  const std::string run = directory.file("run"), copy = directory.file("copy");
  for (const std::string& logs : {std::string("logs"), directory.file("logs")}) {
    const std::string text =
        text_with("update_freq: batch, log_dir: '" + logs + "'", "{every: 1 step, keep: 100}");
    REQUIRE(fit_on(text, "1x1", run).error == "");
    const std::string file = only_file_in((fs::path(run) / logs / "train").string());
    const std::string before = read_text(file);
    fs::copy(run, copy, fs::copy_options::recursive);
    const std::vector<std::string> checkpoints = list_checkpoints(copy + "/checkpoints");
    for (std::size_t i = 4; i < checkpoints.size(); ++i) remove_checkpoint(checkpoints[i]);
    REQUIRE(fit_on(text, "1x1", copy, 0, {.rerun = Rerun::kResume}).error == "");
    CHECK(read_text(file) == before);
    if (logs == "logs") {
      CHECK(scalars_in(only_file_in(copy + "/logs/train")) == scalars_in(file));
    }
    fs::remove_all(run);
    fs::remove_all(copy);
  }
}

TEST_CASE("a run that was moved goes on; where a file is gone it begins another") {
  const TempDirectory directory;
  const std::string run = directory.file("run"), moved = directory.file("moved");
  const std::string text = text_with("update_freq: batch", "{every: 1 step, keep: 100}");
  REQUIRE(fit_on(text, "1x1", run).error == "");
  const std::vector<Scalar> whole = scalars_in(only_file_in(run + "/logs/train"));
  fs::rename(run, moved);
  const std::vector<std::string> checkpoints = list_checkpoints(moved + "/checkpoints");
  for (std::size_t i = 4; i < checkpoints.size(); ++i) remove_checkpoint(checkpoints[i]);
  const std::string file = only_file_in(moved + "/logs/train");
  fs::remove_all(moved + "/logs/validation");
  REQUIRE(fit_on(text, "1x1", moved, 0, {.rerun = Rerun::kResume}).error == "");
  CHECK(scalars_in(only_file_in(moved + "/logs/train")) == whole);
  CHECK(scalars_in(only_file_in(moved + "/logs/validation")).size() == 8);
  CHECK_FALSE(fs::exists(run));
}

TEST_CASE("what TensorBoard does not get here is refused") {
  const TempDirectory directory;
  const auto complaint = [&](const std::string& arguments) {
    return test::error_of([&] { fit_on(text_with(arguments), "1x1", directory.path()); });
  };
  CHECK(complaint("histogram_freq: 1")
            .find("TensorBoard: histogram_freq is not supported; scalars "
                  "alone are written, so leave it out") != std::string::npos);
  CHECK(complaint("update_freq: 0").find("update_freq is 0; give 1 or more") != std::string::npos);
  CHECK(fit_on(text_with("write_graph: false, histogram_freq: 0"), "1x1", directory.path()).error ==
        "");
}
