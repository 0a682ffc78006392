// Logs of a run: tables and JSON Lines, of epochs and of steps.
#include <doctest/doctest.h>

#include <cmath>
#include <filesystem>
#include <limits>
#include <nlohmann/json.hpp>

#include "support/errors.h"
#include "support/full_disk.h"
#include "support/log_text.h"

#include "train/csv_log.h"
#include "train/run_logs.h"
#include "train/step_times.h"

namespace meshwork {
namespace {

using config::FitSpec;
using test::TempDirectory;

std::string warned;

RunLogs open(const test::TempDirectory& directory, const FitSpec& fit = {},
             const std::vector<std::string>& expected = {}, const Json& state = Json()) {
  warned.clear();
  return RunLogs(fit, directory.path(), expected, state,
                 [](const std::string& line) { warned += line; });
}

FitSpec in_formats(const std::vector<std::string>& names) {
  FitSpec fit;
  fit.log_steps = true;
  for (const std::string& name : names) fit.log_format.push_back({name, {}, {"c.yaml", 3, 4}});
  return fit;
}

TEST_CASE("metrics: a row per epoch, names sorted, nine digits, in the file at once") {
  const test::TempDirectory directory;
  const std::string path = directory.file("metrics.csv");
  test::write_text(path, "left from an older run\n");
  RunLogs log = open(directory);
  CHECK(test::read_text(path).empty());
  log.add_epoch(0, {{"val_loss", 0.5}, {"loss", 1.0 / 3.0}, {"accuracy", 0.9}}, {2.0, 100});
  CHECK(test::read_text(path) ==
        "epoch,accuracy,loss,val_loss,seconds,samples_per_second\n"
        "0,0.9,0.333333333,0.5,2,50\n");
  log.add_epoch(1, {{"val_loss", 1e-12}, {"loss", 123456789012.0}, {"accuracy", -0.0}}, {});
  CHECK(test::read_text(path).ends_with("\n1,-0,1.23456789e+11,1e-12,0,0\n"));
  CHECK_FALSE(log.wants_steps());
}

TEST_CASE("metrics: NA where a value is absent; later names get no column") {
  const test::TempDirectory directory;
  RunLogs log = open(directory, {}, {"val_loss", "val_accuracy"});
  log.add_epoch(0, {{"loss", 1.0}}, {});
  log.add_epoch(1, {{"loss", 2.0}, {"val_loss", 3.0}, {"learning_rate", 0.1}}, {});
  log.add_epoch(2, {}, {});
  CHECK(test::read_log(directory.file("metrics.csv")) ==
        "epoch,loss,val_accuracy,val_loss\n"
        "0,1,NA,NA\n"
        "1,2,NA,3\n"
        "2,NA,NA,NA\n");
}

TEST_CASE("tables: odd names are quoted") {
  const test::TempDirectory directory;
  RunLogs log = open(directory);
  log.add_epoch(0, {{"a,b", 1.0}, {"say \"c\"", 2.0}}, {});
  CHECK(test::read_log(directory.file("metrics.csv")) ==
        "epoch,\"a,b\",\"say \"\"c\"\"\"\n0,1,2\n");
}

TEST_CASE("nine digits give every float back") {
  const test::TempDirectory directory;
  const std::string path = directory.file("steps.csv");
  RunLogs log = open(directory, in_formats({"csv"}));
  float value = 1e-30F;
  for (std::int64_t step = 0; step < 300; ++step) {
    log.add_step(step, value, {});
    const std::string text = test::read_log(path);
    const std::string number = text.substr(text.rfind(',') + 1);
    CHECK(std::strtof(number.c_str(), nullptr) == value);
    value *= 1.37F;
  }
}

TEST_CASE("steps: NaN has no sign, infinity has; JSON has them as texts") {
  const test::TempDirectory directory;
  RunLogs log = open(directory, in_formats({"csv", "jsonl", "csv"}));
  log.add_step(0, std::copysign(std::numeric_limits<double>::quiet_NaN(), -1.0), {0.5, 8});
  log.add_step(1, -std::numeric_limits<double>::infinity(), {});
  CHECK(test::read_text(directory.file("steps.csv")) ==
        "step,loss,seconds,samples_per_second\n0,nan,0.5,16\n1,-inf,0,0\n");
  CHECK(test::read_text(directory.file("steps.jsonl")) ==
        "{\"step\":0,\"loss\":\"nan\",\"seconds\":0.5,\"samples_per_second\":16.0}\n"
        "{\"step\":1,\"loss\":\"-inf\",\"seconds\":0.0,\"samples_per_second\":0.0}\n");
}

TEST_CASE("JSON Lines have what there is, to the last bit") {
  const test::TempDirectory directory;
  RunLogs log = open(directory, in_formats({"jsonl"}), {"val_loss"});
  log.add_epoch(3, {{"loss", 1.0 / 3.0}, {"a \"b\"", 2.0}}, {0.25, 1});
  const Json line = Json::parse(test::read_text(directory.file("metrics.jsonl")));
  CHECK(line == Json{{"epoch", 3},
                     {"a \"b\"", 2.0},
                     {"loss", 1.0 / 3.0},
                     {"seconds", 0.25},
                     {"samples_per_second", 4.0}});
  CHECK_FALSE(std::ifstream(directory.file("metrics.csv")).good());
}

TEST_CASE("logs go on behind what their state knows") {
  const test::TempDirectory directory;
  const FitSpec fit = in_formats({"csv", "jsonl"});
  const std::vector<std::string> files{"metrics.csv", "metrics.jsonl", "steps.csv", "steps.jsonl"};
  const auto add = [](RunLogs& log, int from, int to) {
    for (int i = from; i < to; ++i) {
      log.add_epoch(i, {{"loss", 1.0 / (i + 1)}}, {1.0, 2});
      log.add_step(i, 0.5 * i, {1.0, 2});
    }
  };
  Json state, none;
  {
    RunLogs log = open(directory, fit);
    none = log.state();
    add(log, 0, 2);
    state = log.state();
    add(log, 2, 5);
  }
  std::vector<std::string> whole;
  for (const std::string& file : files) whole.push_back(test::read_text(directory.file(file)));
  for (const int cut : {0, 2}) {
    RunLogs log = open(directory, fit, {}, cut == 0 ? none : state);
    add(log, cut, 5);
    for (std::size_t i = 0; i < files.size(); ++i) {
      CHECK(test::read_text(directory.file(files[i])) == whole[i]);
    }
  }
  // One that is gone begins anew, with a heading.
  std::filesystem::remove(directory.file("metrics.csv"));
  RunLogs log = open(directory, fit, {}, state);
  log.add_epoch(2, {{"loss", 4.0}}, {});
  CHECK(test::read_log(directory.file("metrics.csv")) == "epoch,loss\n2,4\n");
}

TEST_CASE("a log that cannot be written costs a warning, once") {
  const test::TempDirectory directory;
  std::filesystem::create_symlink("/dev/full", directory.file("metrics.csv"));
  RunLogs log = open(directory, in_formats({"csv", "jsonl"}));
  log.add_epoch(0, {{"loss", 1.0}}, {});
  log.add_epoch(1, {{"loss", 1.0}}, {});
  CHECK(warned == "warning: " + directory.file("metrics.csv") +
                      ": cannot write: No space left on device; training goes on, and rows are "
                      "missing until it can be written");
  CHECK(test::read_text(directory.file("metrics.jsonl")).size() > 100);
  const test::TempDirectory other;
  CHECK(test::error_of([&] { RunLogs(FitSpec{}, other.file("absent"), {}, Json(), {}); }) ==
        "3: " + other.file("absent/metrics.csv") + ": cannot create: No such file or directory");
}

TEST_CASE("a row that does not fit leaves nothing behind, and the next one is tried") {
  const TempDirectory directory;
  const FitSpec fit = in_formats({"csv", "jsonl"});
  RunLogs log = open(directory, fit);
  const auto add = [](RunLogs& to, int i) {
    to.add_epoch(i, {{"loss", 0.5}}, {1, 2});
    to.add_step(i, 0.5, {1, 2});
  };
  add(log, 0);
  const std::string before = test::read_text(directory.file("metrics.csv"));
  {
    const test::FullDisk full(before.size() + 5);
    add(log, 1);
  }
  CHECK(warned.find("metrics.csv: cannot write: File too large; training goes on, and rows are "
                    "missing until it can be written") != std::string::npos);
  CHECK(test::read_text(directory.file("metrics.csv")) == before);
  warned.clear();
  add(log, 2);
  CHECK(warned == "");
  const std::string after = before + "2,0.5,1,2\n";
  CHECK(test::read_text(directory.file("metrics.csv")) == after);
  RunLogs resumed = open(directory, fit, {}, log.state());
  add(resumed, 3);
  CHECK(test::read_text(directory.file("metrics.csv")) == after + "3,0.5,1,2\n");
  CHECK(test::read_text(directory.file("metrics.jsonl")).find("{\"epoch\":3") != std::string::npos);
}

TEST_CASE("a log that a run did not write for a while goes on behind its rows") {
  const TempDirectory directory;
  const auto run = [&](const std::vector<std::string>& formats, const Json& state, int epoch) {
    RunLogs log = open(directory, in_formats(formats), {}, state);
    log.add_epoch(epoch, {{"loss", 0.5}, {"a,\"b\"", 1.0}}, {1, 2});
    return log.state();
  };
  const std::string header = "epoch,\"a,\"\"b\"\"\",loss,seconds,samples_per_second\n";
  const std::string rows = header + "0,1,0.5,1,2\n";
  Json state = run({"csv"}, Json(), 0);
  state = run({"jsonl"}, state, 1);
  state = run({"csv", "jsonl"}, state, 2);
  CHECK(test::read_text(directory.file("metrics.csv")) == rows + "2,1,0.5,1,2\n");
  // One of which nothing is known: behind its last whole line, with the columns of its header.
  test::write_text(directory.file("metrics.csv"), rows + "1,1,0.");
  test::write_text(directory.file("metrics.jsonl"), "{\"epoch\":0}\n{\"epo");
  run({"csv", "jsonl"}, Json::object(), 1);
  CHECK(test::read_text(directory.file("metrics.csv")) == rows + "1,1,0.5,1,2\n");
  CHECK(
      test::read_text(directory.file("metrics.jsonl")).starts_with("{\"epoch\":0}\n{\"epoch\":1,"));
}

TEST_CASE("a format that there is not is an error at its place") {
  CHECK(test::error_of([] {
          check_log_formats(in_formats({"csv", "jsonk"}));
        }) == "2: c.yaml:3:4: there is no log_format 'jsonk'; nearest: 'jsonl'");
  FitSpec fit = in_formats({"csv"});
  fit.log_format[0].args.kind = config::Value::Kind::kMap;
  CHECK(test::error_of([&] { check_log_formats(fit); }) ==
        "2: c.yaml:3:4: log_format csv takes no arguments");
}

TEST_CASE("times of steps: quantiles to one percent") {
  StepTimes times;
  CHECK(times.quantile(0.5) == 0);
  for (int i = 1; i <= 1000; ++i) times.add(0.001 * i);
  CHECK(times.count() == 1000);
  CHECK(times.total() == doctest::Approx(500.5));
  CHECK(times.most() == 1.0);
  for (const double part : {0.001, 0.1, 0.5, 0.9, 0.99, 1.0}) {
    CHECK(times.quantile(part) == doctest::Approx(part).epsilon(0.01));
  }
  times.add(0);
  CHECK(times.quantile(0) == doctest::Approx(1e-9).epsilon(0.01));
}

}  // namespace
}  // namespace meshwork
