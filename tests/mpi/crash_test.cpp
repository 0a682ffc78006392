// Kills and stops runs at random moments, and looks at what is left and how they go on.
//
// MESHWORK_TEST_KILLS: how often, instead of 6 times.
#include <csignal>
#include <filesystem>
#include <random>
#include <regex>
#include <sstream>
#include <vector>

#include "program.h"
#include "state/checkpoint.h"
#include "support/log_text.h"
#include "support/temp_directory.h"

namespace {

using namespace meshwork::test;

/// A run of some seconds on four ranks, which writes a checkpoint every few steps.
std::string write_config(const TempDirectory& directory) {
  const std::string file = directory.file("c.yaml");
  write_text(file, R"(
mesh: {data: 2, model: 2}
layout_map: {'a/kernel': [null, model], 'a/bias': [model], 'b/kernel': [model, null]}
optimizer_layout: {'a/kernel': [data, null]}
checkpoint: {every: 10 steps, keep: 2}
resume: auto
dataset:
  name: t
  format: synthetic
  splits:
    train: {x: {normal: [320, 30]}, y: {normal: [320, 3]}}
    test: {x: {normal: [50, 30]}, y: {normal: [50, 3]}}
model:
  input: [30]
  layers:
    - Dense: {name: a, units: 70, activation: tanh}
    - Dropout: {rate: 0.2}
    - Dense: {name: b, units: 3}
compile: {optimizer: {Adam: {learning_rate: 0.01}}, loss: mse, metrics: [mae]}
fit: {batch_size: 8, epochs: 5, validation: true, log_steps: true,
      callbacks: [ReduceLROnPlateau: {patience: 2}, EarlyStopping: {patience: 9, restore_best_weights: true}]}
)");
  return file;
}

std::string fit(const std::string& config, const std::string& run,
                const std::string& mesh = "2x2") {
  return " fit " + config + " --verbose 0 --mesh " + mesh + " run_directory=" + run;
}

/// Starts a command of which each word is mpirun's or a rank's, and kills the ranks (or, without
/// mpirun, the process itself) after that time.
Ending run_and_kill(const std::string& command, double seconds, bool by_mpirun) {
  return run_job(fmt::format("/usr/bin/env {} & P=$!\nsleep {:.3f}\n{} 2> /dev/null\nwait $P",
                             command, seconds, by_mpirun ? "pkill -KILL -P $P" : "kill -KILL $P"));
}

int kills() {
  const char* wanted = std::getenv("MESHWORK_TEST_KILLS");
  return wanted == nullptr ? 6 : std::atoi(wanted);
}

/// All checkpoints of a run can be read whole.
void check_checkpoints(const std::string& run) {
  for (const std::string& path : meshwork::list_checkpoints(run + "/checkpoints")) {
    CAPTURE(path);
    CHECK_NOTHROW(meshwork::Checkpoint(path).verify());
  }
}

/// A row for every number from 0 on, each once.
void check_rows(const std::string& csv, int rows) {
  std::istringstream lines(csv);
  std::string line;
  REQUIRE(std::getline(lines, line));
  int number = 0;
  for (; std::getline(lines, line); ++number) {
    CHECK(line.starts_with(std::to_string(number) + ","));
  }
  CHECK(number == rows);
}

double loss_in(const std::string& line) {
  const std::size_t at = line.find("loss=");
  REQUIRE(at != std::string::npos);
  return std::stod(line.substr(at + 5));
}

}  // namespace

TEST_CASE("a run that is killed at any moment goes on to the same bits") {
  const TempDirectory directory;
  const std::string config = write_config(directory);
  const std::string expected = output(program() + fit(config, directory.file("whole")));
  std::mt19937 random(7);
  std::uniform_real_distribution<double> moment(0.3, 1.6);
  const std::string run = directory.file("run");
  for (int i = 0; i < kills(); ++i) {
    const bool by_mpirun = i % 2 == 0;
    const std::string command = by_mpirun ? "mpirun --oversubscribe -n 4 " + program() : program();
    run_and_kill(command + fit(config, run), moment(random), by_mpirun);
    check_checkpoints(run);
  }
  CHECK(output(under_mpirun(4) + fit(config, run)) == expected);
  for (const char* file : {"/metrics.csv", "/steps.csv", "/final.safetensors"}) {
    CHECK(read_log(run + file) == read_log(directory.file("whole") + file));
  }
}

TEST_CASE("a run that is killed at any moment goes on on any mesh") {
  const TempDirectory directory;
  const std::string config = write_config(directory);
  const std::string expected = output(program() + fit(config, directory.file("whole")));
  const std::vector<std::string> meshes{"1x1", "2x1", "1x3", "2x2", "5x1", "2x3", "1x7", "4x2"};
  std::mt19937 random(8);
  std::uniform_real_distribution<double> moment(0.2, 0.8);
  const std::string run = directory.file("run");
  for (int i = 0; i < kills(); ++i) {
    const std::string& mesh = meshes[random() % meshes.size()];
    run_and_kill(program() + fit(config, run, mesh), moment(random), false);
    check_checkpoints(run);
  }
  const std::string line = output(program() + fit(config, run, meshes[random() % meshes.size()]));
  CHECK(loss_in(line) == doctest::Approx(loss_in(expected)).epsilon(1e-3));
  check_rows(read_text(run + "/metrics.csv"), 5);
  check_rows(read_text(run + "/steps.csv"), 200);
}

TEST_CASE("a signal to a rank, or to all of them, ends a run with 75 behind a checkpoint") {
  const TempDirectory directory;
  const std::string config = write_config(directory);
  const std::string expected = output(program() + fit(config, directory.file("whole")));
  const std::string mpirun = "mpirun --oversubscribe -n 4 ";
  struct Case {
    std::string start;
    std::string stop;
    std::string name;
  };
  for (const Case& each :
       {Case{program(), "kill -TERM $P", "SIGTERM"}, Case{program(), "kill -HUP $P", "SIGHUP"},
        Case{program(), "kill -INT $P", "SIGINT"}, Case{program(), "kill -USR1 $P", "SIGUSR1"},
        Case{mpirun + program(), "kill -USR1 $P", "SIGUSR1"},
        Case{mpirun + program(), "pkill -o -TERM -P $P", "SIGTERM"}}) {
    CAPTURE(each.start);
    CAPTURE(each.stop);
    const std::string run = directory.file("run");
    const Ending ending = run_job(
        fmt::format("/usr/bin/env --default-signal=INT {} & P=$!\nwhile kill -0 $P && ! ls "
                    "{}/checkpoints/*/index.json > /dev/null 2>&1; do sleep 0.01; done\n{}\n"
                    "wait $P",
                    each.start + fit(config, run), run, each.stop));
    CAPTURE(ending.output);
    CHECK(ending.exit_code == 75);
    CHECK(count(ending.output, "meshwork: stopped by " + each.name +
                                   "; the same command with --resume goes on from " + run) == 1);
    CHECK(output(program() + fit(config, run)) == expected);
    output("rm -r " + run);
  }
}

TEST_CASE("two runs in one directory: the second is refused, and the first takes no harm") {
  const TempDirectory directory;
  const std::string config = write_config(directory);
  const std::string run = directory.file("run");
  const Ending ending = run_job(fmt::format(
      "{} fit.epochs=100000 fit.callbacks.EarlyStopping.patience=100000 & P=$!\nwhile kill -0 $P "
      "&& ! ls {}/checkpoints/*/index.json > "
      "/dev/null 2>&1; do sleep 0.01; done\n{}; echo $?\nkill -TERM $P\nwait $P",
      program() + fit(config, run), run, under_mpirun(4) + fit(config, run) + " --overwrite"));
  CAPTURE(ending.output);
  CHECK(ending.exit_code == 75);
  CHECK(count(ending.output, "meshwork: " + run + ": another run, process ") == 1);
  CHECK(count(ending.output, "\n3\n") == 1);
  CHECK(contains(ending.output, "meshwork: stopped by SIGTERM; "));
  check_checkpoints(run);
}

TEST_CASE("a rank that stands still ends the job, which says who waits for what") {
  const TempDirectory directory;
  const std::string config = write_config(directory);
  const std::string run = directory.file("run");
  // Longer than a host that has no time for them lets all ranks stand still.
  const double patience = quick_seconds(4, program() + " --version") - 6;
  const Ending ending = run_job(fmt::format(
      "/usr/bin/env mpirun --oversubscribe -n 4 {} fit.epochs=500 "
      "fit.callbacks.EarlyStopping.patience=500 'stall_timeout={:.0f} s' & P=$!\n"
      "while kill -0 $P && ! ls {}/checkpoints/*/index.json > /dev/null 2>&1; do sleep 0.01; done\n"
      "kill -STOP $(pgrep -P $P | sed -n 3p)\nwait $P",
      program() + fit(config, run), patience, run));
  CAPTURE(ending.output);
  CHECK(ending.exit_code == 4);
  CHECK(ending.seconds < 20 + 5 * patience);
  CHECK(contains(ending.output, "meshwork: warning: nothing gets on for "));
  CHECK(contains(ending.output, "meshwork: nothing got on for "));
  const std::regex names_rank_2(
      R"(; (rank 2 says|ranks [0-9, ]*\b2\b[0-9, ]* say) nothing: stopped, )");
  CHECK(std::regex_search(ending.output, names_rank_2));
  CHECK(std::regex_search(ending.output, std::regex("rank [013] is ")));
  CHECK(output(program() + fit(config, run)).starts_with("final loss="));
}

TEST_CASE("elastic.sh goes on with the ranks that are left") {
  const TempDirectory directory;
  const std::string config = write_config(directory);
  const std::string run = directory.file("run");
  const std::string elastic = std::filesystem::absolute("scripts/elastic.sh").string();
  const Ending ending = run_job(fmt::format(
      "{} -n 4 {} fit {} --mesh data=-1 --verbose 0 layout_map=null optimizer_layout=null "
      "run_directory={} fit.epochs=8 & "
      "P=$!\nwhile kill -0 $P && ! ls {}/checkpoints/*/index.json > /dev/null 2>&1; do sleep 0.01; "
      "done\nkill -KILL $(pgrep -P $(pgrep -P $P mpirun) | tail -n 1)\nwait $P",
      elastic, program(), config, run, run));
  CAPTURE(ending.output);
  CHECK(ending.exit_code == 0);
  CHECK(count(ending.output, "elastic.sh: a rank was lost (exit code 137); ") == 1);
  CHECK(count(ending.output, "final loss=") == 1);
  const std::string record = read_text(run + "/run.json");
  CHECK(contains(record, "\"devices\": 3"));
  CHECK(contains(record, "\"resumed_from\": \"" + run + "/checkpoints/step-"));
  const Ending wrong = run_job(elastic + " -n 2 " + program() + " fit absent.yaml");
  CHECK(wrong.exit_code == 2);
  CHECK(count(wrong.output, "meshwork: ") == 1);
}
