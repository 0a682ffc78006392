// What goes wrong while training, and what is left then.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>

#include "machine/signals.h"
#include "state/checkpoint.h"
#include "support/errors.h"
#include "whole_runs.h"

using namespace meshwork;
using namespace meshwork::testing::runs;
using meshwork::test::read_text;
using meshwork::test::TempDirectory;
using meshwork::test::write_text;

namespace fs = std::filesystem;

namespace {

constexpr const char* kAdam = "{Adam: {learning_rate: 0.05}}";

std::string checked(const std::string& optimizer, const std::string& more = "") {
  return text_of(optimizer, "batch_size: 8, epochs: 2, validation: true") +
         "debug: {check_numerics: true}\n" + more;
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

/// Sets $TMPDIR while it lives.
class TemporaryPlace {
 public:
  explicit TemporaryPlace(const std::string& path) {
    const char* before = std::getenv("TMPDIR");
    if (before != nullptr) before_ = before;
    setenv("TMPDIR", path.c_str(), 1);
  }
  ~TemporaryPlace() {
    if (before_) {
      setenv("TMPDIR", before_->c_str(), 1);
    } else {
      unsetenv("TMPDIR");
    }
  }
  TemporaryPlace(const TemporaryPlace&) = delete;
  TemporaryPlace& operator=(const TemporaryPlace&) = delete;

 private:
  std::optional<std::string> before_;
};

}  // namespace

TEST_CASE("check_numerics: a run that is well is the same run") {
  const TempDirectory directory;
  for (const std::string mesh : {"1x1", "2x2", "1x5"}) {
    const Outcome plain = fit_on(text_of(kAdam, "batch_size: 8, epochs: 2, validation: true"), mesh,
                                 directory.file("plain"));
    const Outcome watched = fit_on(checked(kAdam), mesh, directory.file("watched"));
    CHECK(watched.error == "");
    CHECK(watched.result.digest == plain.result.digest);
    CHECK(watched.result.logs == plain.result.logs);
  }
}

TEST_CASE("check_numerics names the first tensor, and leaves a checkpoint of before") {
  const TempDirectory directory;
  const std::string run = directory.file("run");
  for (const std::string mesh : {"1x1", "2x2", "3x1"}) {
    CAPTURE(mesh);
    const Outcome outcome = fit_on(checked("{SGD: {learning_rate: 1.0e+30}}"), mesh, run);
    CAPTURE(outcome.error);
    CHECK(outcome.code == ExitCode::kTraining);
    CHECK(outcome.error.starts_with("epoch 1, step 2: layer '"));
    CHECK(contains(outcome.error, " gives "));
    CHECK(contains(outcome.error, "elements on device "));
    CHECK(outcome.error.ends_with("; the checkpoint after step 1 is from before it"));
    const std::vector<std::string> left = list_checkpoints(run + "/checkpoints");
    REQUIRE(left.size() == 1);
    CHECK(left[0] == run + "/checkpoints/step-1");
    Checkpoint(left[0]).verify();
    CHECK_FALSE(fs::exists(run + "/final.safetensors"));
  }
  const Outcome without =
      fit_on(checked("{SGD: {learning_rate: 1.0e+30}}", "checkpoint: false\n"), "1x1", run);
  CHECK(without.error.ends_with(" are not finite)"));
}

TEST_CASE("check_numerics names data that are no numbers") {
  const TempDirectory directory;
  std::vector<float> rows(22 * 2, 1.0F);
  rows[11 * 2] = std::nanf("");
  std::string header = "{'descr': '<f4', 'fortran_order': False, 'shape': (22, 2), }";
  header.resize(117, ' ');
  std::string npy("\x93NUMPY\x01\0\x76\0", 10);
  npy += header + '\n';
  npy.append(reinterpret_cast<const char*>(rows.data()), rows.size() * sizeof(float));
  write_text(directory.file("x.npy"), npy);
  const std::string text = fmt::format(R"(
mesh: {{data: 2}}
dataset:
  name: rows
  format: npy
  splits: {{train: {{x: {}, y: {}}}}}
model: {{input: [2], layers: [Dense: {{name: d1, units: 2}}]}}
compile: {{optimizer: sgd, loss: mse}}
fit: {{batch_size: 8, shuffle: false}}
debug: {{check_numerics: true}}
)",
                                       directory.file("x.npy"), directory.file("x.npy"));
  const Outcome outcome = fit_on(text, "2", directory.file("run"));
  CAPTURE(outcome.error);
  CHECK(outcome.error.starts_with("epoch 1, step 2: "));
  CHECK(contains(outcome.error, " nan at [3, 0] of [8, 2] (1 of "));
}

/// The only directory in one, of a run that is named `run`.
std::string second_place(const std::string& directory) {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(directory))
    names.push_back(entry.path().string());
  REQUIRE(names.size() == 1);
  CHECK(fs::path(names[0]).filename().string().starts_with("run-"));
  CHECK(names[0].ends_with(".checkpoints"));
  return names[0];
}

TEST_CASE("checkpoints and final weights go to a second place") {
  const TempDirectory directory;
  const std::string run = directory.file("run"), other = directory.file("other");
  const std::string text = text_of(kAdam, "batch_size: 8, epochs: 2");
  const Outcome whole = fit_on(text, "1x1", directory.file("whole"));
  const auto fill = [&] {
    fs::remove_all(run);
    fs::create_directory(run);
    write_text(run + "/checkpoints", "no directory");
  };
  for (const bool by_key : {true, false}) {
    CAPTURE(by_key);
    const TemporaryPlace place(by_key ? directory.path() : other);
    fill();
    const std::string key = by_key ? fmt::format("checkpoint: {{fallback: '{}'}}\n", other) : "";
    const Outcome outcome = fit_on(text + key, "2x2", run);
    REQUIRE(outcome.error == "");
    CHECK(outcome.result.logs.at("loss") == doctest::Approx(whole.result.logs.at("loss")));
    const std::string place_of_run = second_place(other);
    const std::string last = place_of_run + "/step-6";
    CHECK(
        contains(outcome.out, "warning: no checkpoint after step 6 in " + run + "/checkpoints: "));
    CHECK(contains(outcome.out, "; it is in " + last + "; training goes on\n"));
    CHECK(list_checkpoints(place_of_run) == std::vector<std::string>{last});
    Checkpoint(last).verify();
    fs::remove_all(other);
  }
  // A callback that makes a directory where the final weights are to be.
  const TemporaryPlace place(other);
  const auto end_without_file = [&] {
    return fit_on(text_of(kAdam,
                          "batch_size: 8, epochs: 2, callbacks: [ModelCheckpoint: {filepath: "
                          "'" +
                              run + "/final.safetensors/{epoch}.safetensors'}]"),
                  "2x2", run);
  };
  const Outcome outcome = end_without_file();
  CHECK(outcome.code == ExitCode::kFile);
  const std::string weights = second_place(other) + "/final.safetensors";
  CHECK(outcome.error.ends_with("; the final weights are in " + weights));
  CHECK(difference(weights_in(weights), weights_in(directory.file("whole/final.safetensors"))) <
        1e-5);
  fs::remove_all(run);
  const TemporaryPlace none("");
  CHECK(end_without_file().error.ends_with(
      "; set TMPDIR or 'checkpoint: {fallback: DIR}' for a second place; the same command with "
      "--resume goes on from " +
      run + "/checkpoints/step-6"));
  const TemporaryPlace bad(run + "/config.yaml");
  const Outcome nowhere = end_without_file();
  CHECK(contains(nowhere.error, "; nor in " + run + "/config.yaml/run-"));
  CHECK(nowhere.error.ends_with("goes on from " + run + "/checkpoints/step-6"));
}

/// How a run ends that a signal stops, behind its first step.
Outcome stopped_at_once(const std::string& text, const std::string& mesh, const std::string& run) {
  const StopSignals signals;
  raise(SIGTERM);
  return fit_on(text, mesh, run);
}

TEST_CASE("a run that a signal ends without a checkpoint says so, and what is lost") {
  const TempDirectory directory;
  const std::string run = directory.file("run");
  const std::string text = text_of(kAdam, "batch_size: 8, epochs: 3");
  const auto fill = [&](const std::string& path) {
    fs::remove_all(path);
    fs::create_directory(path);
    write_text(path + "/checkpoints", "no directory");
  };
  for (const std::string mesh : {"1x1", "2x2"}) {
    CAPTURE(mesh);
    fs::remove_all(run);
    const Outcome off = stopped_at_once(text + "checkpoint: false\n", mesh, run);
    CHECK(off.code == ExitCode::kTraining);
    CHECK(off.error ==
          "stopped by SIGTERM; checkpoints are switched off: 1 step is lost; there is no "
          "checkpoint to go on from");
    CHECK(contains(read_text(run + "/run.json"), "\"exit_code\": 1"));
    fill(run);
    const TemporaryPlace place(run + "/checkpoints");  // which is no directory, either
    const Outcome full = stopped_at_once(text, mesh, run);
    CAPTURE(full.error);
    CHECK(full.code == ExitCode::kFile);
    CHECK(full.error.starts_with("stopped by SIGTERM; no checkpoint after step 1 in " + run +
                                 "/checkpoints: "));
    CHECK(contains(full.error, "; nor in "));
    CHECK(full.error.ends_with(": 1 step is lost; there is no checkpoint to go on from"));
    CHECK(contains(read_text(run + "/run.json"), "\"exit_code\": 3"));
    // The second place counts.
    fill(run);
    const TemporaryPlace other(directory.file("other"));
    const Outcome elsewhere = stopped_at_once(text, mesh, run);
    CHECK(elsewhere.error == "");
    CHECK(contains(elsewhere.result.stopped,
                   "; the newest checkpoint is " + directory.file("other")));
  }
}

TEST_CASE("a run that a signal ends behind a loss that is no number has failed") {
  const TempDirectory directory;
  std::string text = text_of(kAdam, "batch_size: 8, epochs: 3");
  const std::string units = "units: 3}";
  text.replace(text.find(units), units.size(),
               "units: 3, kernel_initializer: {Constant: {value: 1.e+25}}}");
  for (const std::string mesh : {"1x1", "2x2"}) {
    CAPTURE(mesh);
    const Outcome outcome = stopped_at_once(text, mesh, directory.file(mesh));
    CHECK(outcome.code == ExitCode::kTraining);
    CHECK(outcome.error.starts_with("epoch 1, step 1: the loss is inf; "));
    CHECK(list_checkpoints(directory.file(mesh + "/checkpoints")).empty());
  }
}

TEST_CASE("files of callbacks stay in the run directory, or are meant to be elsewhere") {
  const TempDirectory directory;
  const auto with = [&](const std::string& callback) {
    return test::error_of([&] {
      fit_on(text_of(kAdam, "batch_size: 8, callbacks: [" + callback + "]"), "1x1",
             directory.file("run"));
    });
  };
  for (const char* callback :
       {"CSVLogger: {filename: '../log.csv'}", "TensorBoard: {log_dir: 'a/../../b'}",
        "ModelCheckpoint: {filepath: '../{epoch}.safetensors'}"}) {
    CHECK(contains(with(callback), "' leaves the run directory, where relative paths start; "));
  }
  for (const char* callback :
       {"CSVLogger: {filename: metrics.csv}", "CSVLogger: {filename: ./run.json}",
        "TensorBoard: {log_dir: checkpoints/a}",
        "ModelCheckpoint: {filepath: final.safetensors}"}) {
    CHECK(contains(with(callback), ": the run itself writes '"));
  }
  CHECK(contains(with("CSVLogger: {filename: a.csv}, CSVLogger: {filename: b/../a.csv}"),
                 "another one writes 'a.csv', too; name another file"));
  CHECK(contains(with("ModelCheckpoint: {filepath: '{epoch:0300d}.safetensors'}"),
                 "':0300d' is wider than 99"));
  CHECK(with("CSVLogger: {filename: 'a/../..log.csv'}") == "");
  CHECK(with("CSVLogger: {filename: '" + directory.file("log.csv") + "'}") == "");
  CHECK(fs::exists(directory.file("run/..log.csv")));
  CHECK(fs::exists(directory.file("log.csv")));
}

TEST_CASE("data that have changed under a run are noticed when it goes on") {
  const TempDirectory directory;
  const auto write = [&](double last) {
    std::string rows = "a,y\n";
    for (int i = 0; i < 40; ++i) rows += fmt::format("{},{}\n", i, i == 39 ? last : 2.0 * i);
    write_text(directory.file("rows.csv"), rows);
  };
  const std::string text = fmt::format(R"(
mesh: {{data: 2}}
dataset:
  name: rows
  format: csv
  splits: {{train: {}}}
  x: {{columns: [a]}}
  y: {{columns: [y]}}
model: {{input: [1], layers: [Dense: {{name: d1, units: 1}}]}}
compile: {{optimizer: {{SGD: {{learning_rate: 0.0001}}}}, loss: mse}}
)",
                                       directory.file("rows.csv"));
  const std::string run = directory.file("run");
  write(78);
  REQUIRE(fit_on(text + "fit: {batch_size: 8, epochs: 1}\n", "2", run).error == "");
  const auto resume = [&] {
    return fit_on(text + "fit: {batch_size: 8, epochs: 2}\n", "2", run, 0,
                  {.rerun = Rerun::kResume});
  };
  write(79);
  const Outcome refused = resume();
  CHECK(refused.code == ExitCode::kFile);
  CHECK(contains(refused.error,
                 "/step-5: the samples of 'rows' are others than those of the run "
                 "that is resumed, or read otherwise; bring its data back"));
  write(78);
  std::string shifted = text;
  shifted.replace(shifted.find("[a]"), 3, "[a], mean: 5, std: 2");
  CHECK(contains(
      fit_on(shifted + "fit: {batch_size: 8, epochs: 2}\n", "2", run, 0, {.rerun = Rerun::kResume})
          .error,
      "or read otherwise"));
  CHECK(resume().error == "");
}

TEST_CASE("validation data that have changed under a run are noticed when it goes on") {
  const TempDirectory directory;
  const auto write = [&](const std::string& file, double last) {
    std::string rows = "a,y\n";
    for (int i = 0; i < 40; ++i) rows += fmt::format("{},{}\n", i, i == 39 ? last : 2.0 * i);
    write_text(directory.file(file), rows);
  };
  const auto text = [&](int epochs, bool validates) {
    return fmt::format(R"(
mesh: {{data: 2}}
dataset:
  name: rows
  format: csv
  splits: {{train: '{0}', validation: '{1}'}}
  x: {{columns: [a]}}
  y: {{columns: [y]}}
model: {{input: [1], layers: [Dense: {{name: d1, units: 1}}]}}
compile: {{optimizer: {{SGD: {{learning_rate: 0.0001}}}}, loss: mse}}
fit: {{batch_size: 8, epochs: {2}, validation: {3}}}
)",
                       directory.file("train.csv"), directory.file("validation.csv"), epochs,
                       validates);
  };
  const std::string run = directory.file("run");
  write("train.csv", 78);
  write("validation.csv", 78);
  REQUIRE(fit_on(text(1, true), "2", run).error == "");
  const auto resume = [&](int epochs, bool validates) {
    return fit_on(text(epochs, validates), "2", run, 0, {.rerun = Rerun::kResume});
  };
  write("validation.csv", 79);
  const Outcome refused = resume(2, true);
  CHECK(refused.code == ExitCode::kFile);
  CHECK(contains(refused.error,
                 "/step-5: the samples of 'rows' that it validates on are others than those of the "
                 "run that is resumed, or read otherwise; bring its data back"));
  write("validation.csv", 78);
  CHECK(resume(2, true).error == "");
  // What is not read is not compared.
  write("validation.csv", 79);
  CHECK(resume(3, false).error == "");
  CHECK(resume(4, true).error == "");
}
