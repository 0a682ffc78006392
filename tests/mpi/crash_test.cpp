// Kills and stops runs at random moments, and looks at what is left and how they go on.
//
// MESHWORK_TEST_KILLS: how often, instead of 8 times.
#include <csignal>
#include <filesystem>
#include <random>
#include <sstream>
#include <vector>

#include "program.h"
#include "state/checkpoint.h"
#include "support/log_text.h"
#include "support/patterns.h"
#include "support/temp_directory.h"

namespace {

using namespace meshwork::test;
using meshwork::testing::has_match;

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

/// Starts a run and kills it that many seconds after `wait`: the ranks, or without mpirun the
/// process itself. It is mpirun's affair to end then; now and then it waits for a lock of its own.
void run_and_kill(const std::string& command, const std::string& wait, double seconds,
                  bool by_mpirun) {
  run_job(fmt::format(
      "/usr/bin/env {} & P=$!\n{}sleep {:.3f}\n{} 2> /dev/null\n"
      "(sleep 30; exec kill -KILL $P) > /dev/null 2>&1 & W=$!\nwait $P\npkill -P $W\nkill $W",
      command, wait, seconds, by_mpirun ? "pkill -KILL -P $P" : "kill -KILL $P"));
}

int kills() {
  const char* wanted = std::getenv("MESHWORK_TEST_KILLS");
  return wanted == nullptr ? 8 : std::atoi(wanted);
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

TEST_CASE("a run killed at any moment goes on, on any mesh, to the same end") {
  const TempDirectory directory;
  const std::string config = write_config(directory);
  const std::string whole = directory.file("whole");
  const std::string expected = output(program() + fit(config, whole));
  const std::vector<std::string> meshes{"1x1", "2x1", "1x3", "2x2", "5x1", "2x3", "1x7", "4x2"};
  const std::string mpirun = "mpirun --oversubscribe -n 4 " + program();
  const double seconds = run_job(mpirun + fit(config, directory.file("timed"))).seconds;
  std::mt19937 random(7);
  std::uniform_real_distribution<double> moment(0, 0.5);
  int in_training = 0;
  for (int i = 0; i < kills(); ++i) {
    const std::string run = directory.file(fmt::format("run-{}", i));
    // One in four may be killed while it starts.
    run_and_kill(mpirun + fit(config, run), i % 4 == 1 ? "" : wait_for(run + "/checkpoints/*"),
                 moment(random) * seconds, true);
    check_checkpoints(run);
    in_training += !meshwork::list_checkpoints(run + "/checkpoints").empty() &&
                   !std::filesystem::exists(run + "/final.safetensors");
    const std::string& mesh = meshes[random() % meshes.size()];
    if (i % 4 == 3) {
      run_and_kill(program() + fit(config, run, mesh), "", moment(random) * seconds, false);
      check_checkpoints(run);
    }
    // To the bit where every part of the run had one mesh.
    const bool same = i % 4 < 2;
    const std::string last =
        i % 4 == 0 ? mpirun + fit(config, run) : program() + fit(config, run, same ? "2x2" : mesh);
    const std::string line = run_job(last).output;
    CAPTURE(i);
    CAPTURE(mesh);
    if (same) {
      CHECK(line == expected);
      for (const char* file : {"/metrics.csv", "/steps.csv", "/final.safetensors"}) {
        CHECK(read_log(run + file) == read_log(whole + file));
      }
    } else {
      CHECK(loss_in(line) == doctest::Approx(loss_in(expected)).epsilon(1e-3));
      check_rows(read_text(run + "/metrics.csv"), 5);
      check_rows(read_text(run + "/steps.csv"), 200);
    }
    std::filesystem::remove_all(run);
  }
  MESSAGE(in_training << " of " << kills() << " runs of 4 ranks were killed between their first "
                      << "checkpoint and their end");
}

TEST_CASE("a signal to a rank, or to all of them, ends a run behind a checkpoint") {
  const TempDirectory directory;
  const std::string config = write_config(directory);
  // Long enough that the signal comes before the end, also where the shell waits for a core.
  const auto fit_longer = [&](const std::string& run) {
    return program() + fit(config, run) +
           " fit.epochs=100 fit.callbacks.EarlyStopping.patience=100 'checkpoint.every=100 steps'";
  };
  const std::string expected = output(fit_longer(directory.file("whole")));
  struct Case {
    std::string start, stop;
    std::vector<std::string> signals;
    int exit_code;
  };
  const std::string mpirun = "mpirun --oversubscribe -n 4 ";
  const std::vector<std::string> all{"TERM", "HUP", "INT", "USR1"};
  // mpirun ends with 1 where a signal ends it, and gives its ranks a second, which they may spend
  // waiting for a core.
  for (const Case& each :
       {Case{"", "kill -$S $P", all, 75}, Case{mpirun, "pkill -o -$S -P $P", all, 75},
        Case{mpirun, "kill -$S $P", {"USR1"}, 75},
        Case{mpirun, "kill -$S $P", {"TERM", "HUP", "INT"}, 1}}) {
    for (const std::string& signal : each.signals) {
      CAPTURE(each.start);
      CAPTURE(each.stop);
      CAPTURE(signal);
      const std::string run = directory.file("run");
      // A shell starts what is in the background with SIGINT ignored.
      const Ending ending = run_job(fmt::format(
          "S={}\n/usr/bin/env --default-signal=INT {}{} & P=$!\n{}{}\nwait $P", signal, each.start,
          fit_longer(run), wait_for(run + "/checkpoints/*/index.json"), each.stop));
      CAPTURE(ending.output);
      CHECK(ending.exit_code == each.exit_code);
      const std::string message = "meshwork: stopped by SIG" + signal +
                                  "; the same command with --resume goes on from " + run;
      if (each.exit_code == 75) CHECK(count(ending.output, message) == 1);
      // A run that was stopped early before the signal came says so first.
      CHECK(output(fit_longer(run)).ends_with(expected));
      std::filesystem::remove_all(run);
    }
  }
}

TEST_CASE("two runs in one directory: the second is refused, and the first takes no harm") {
  const TempDirectory directory;
  const std::string config = write_config(directory), run = directory.file("run");
  const Ending ending = run_job(fmt::format(
      "{} fit.epochs=100000 fit.callbacks.EarlyStopping.patience=100000 & P=$!\n{}{}; echo "
      "$?\nkill -TERM $P\nwait $P",
      program() + fit(config, run), wait_for(run + "/checkpoints/*/index.json"),
      under_mpirun(4) + fit(config, run) + " --overwrite"));
  CAPTURE(ending.output);
  CHECK(ending.exit_code == 75);
  CHECK(count(ending.output, "meshwork: " + run + ": another run, process ") == 1);
  CHECK(count(ending.output, "\n3\n") == 1);
  CHECK(contains(ending.output, "meshwork: stopped by SIGTERM; "));
  check_checkpoints(run);
}

/// Longer than a host that has no time for them lets all ranks stand still.
double patience_of_ranks() { return quick_seconds(4, program() + " --version") / 6; }

/// How four ranks end, of which one is stopped when a file is there, behind which the shell does
/// `then`. `patience`: their stall_timeout, in seconds.
Ending end_with_rank_stopped(int rank, const std::string& file, double patience,
                             const std::string& command, const std::string& then = "true") {
  return run_job(
      fmt::format("/usr/bin/env mpirun --oversubscribe -n 4 {} 'stall_timeout={:.0f} s' & P=$!\n"
                  "{}kill -STOP {}\n{}\nwait $P",
                  command, patience, wait_for(file), process_of(rank), then));
}

TEST_CASE("a rank that stands still ends the job, which says who waits for what") {
  const TempDirectory directory;
  const std::string config = write_config(directory), run = directory.file("run");
  const double patience = patience_of_ranks();
  const Ending ending = end_with_rank_stopped(
      2, run + "/checkpoints/*/index.json", patience,
      program() + fit(config, run) + " fit.epochs=500 fit.callbacks.EarlyStopping.patience=500");
  CAPTURE(ending.output);
  CHECK(ending.exit_code == 4);
  CHECK(ending.seconds < 20 + 5 * patience);
  CHECK(contains(ending.output, "meshwork: warning: nothing gets on for "));
  CHECK(contains(ending.output, "meshwork: nothing got on for "));
  const std::string names_rank_2 =
      R"(; (rank 2 says|ranks [0-9, ]*\b2\b[0-9, ]* say) nothing: stopped, )";
  CHECK(has_match(ending.output, names_rank_2));
  CHECK(has_match(ending.output, "rank [013] is "));
  const std::string record = read_text(run + "/run.json");
  CHECK(contains(record, "\"status\": \"failed\""));
  CHECK(contains(record, "\"exit_code\": 4"));
  CHECK(contains(record, "\"message\": \"nothing got on for "));
  CHECK(output(program() + fit(config, run)).starts_with("final loss="));
}

TEST_CASE("a rank that stands still takes nothing of a run that has the place of its own") {
  const TempDirectory directory;
  const std::string run = directory.file("run");
  const Ending ending = end_with_rank_stopped(
      2, run + "/checkpoints/*/index.json", patience_of_ranks(),
      program() + fit(write_config(directory), run) + " fit.epochs=500",
      fmt::format("mv {0} {0}-2; mkdir -p {0}/.stalled; cp {0}-2/run.json {0}-2/.lock {0}", run));
  CAPTURE(ending.output);
  CHECK(ending.exit_code == 4);
  CHECK(contains(read_text(run + "/run.json"), "\"status\": \"running\""));
  CHECK(std::filesystem::is_empty(run + "/.stalled"));
}

TEST_CASE("a rank that stands still before the first step ends the job") {
  const TempDirectory directory;
  const std::string run = directory.file("run");
  const double patience = patience_of_ranks();
  const Ending ending = end_with_rank_stopped(2, run + "/run.json", patience,
                                              program() + fit(write_config(directory), run) +
                                                  " checkpoint=false fit.epochs=100000 "
                                                  "fit.callbacks.EarlyStopping.patience=100000");
  CAPTURE(ending.output);
  CHECK(ending.exit_code == 4);
  CHECK(ending.seconds < 20 + 5 * patience);
  CHECK(contains(ending.output, "meshwork: nothing got on for "));
}

TEST_CASE("a product that takes longer than stall_timeout ends no job") {
  const TempDirectory directory;
  const std::string config = directory.file("c.yaml");
  write_text(config, R"(
mesh: {data: 1}
checkpoint: false
stall_timeout: 2 s
dataset:
  name: t
  format: synthetic
  splits: {train: {x: {normal: [1, 4500, 3]}, y: {normal: [1, 4500, 1]}}}
model:
  input: [4500, 3]
  layers: [Dense: {units: 4500}, Dense: {units: 4500}, Dense: {units: 1}]
compile: {optimizer: {SGD: {learning_rate: 0.001}}, loss: mse}
fit: {batch_size: 1, epochs: 1}
)");
  // Of two ranks one has the sample, and the other one waits for it.
  for (const std::string& start : {program(), under_mpirun(2)}) {
    CAPTURE(start);
    const Ending ending = run_job(
        "env OMP_NUM_THREADS=1 " + start +
        fit(config, directory.file("run"), start == program() ? "1" : "2") + " --overwrite");
    CAPTURE(ending.output);
    CHECK(ending.exit_code == 0);
    CHECK_FALSE(contains(ending.output, "gets on"));
  }
}

TEST_CASE("a prediction all of whose ranks wait for one that stands still ends, too") {
  const TempDirectory directory;
  const std::string config = write_config(directory), run = directory.file("run");
  output(program() + fit(config, run));
  const double patience = patience_of_ranks();
  const Ending ending = end_with_rank_stopped(
      1, run + "/predictions*", patience,
      fmt::format(
          "{} predict {} --mesh 1x4 --from {} --verbose 0 run_directory={} fit.batch_size=2 "
          "'dataset.splits.test={{x: {{normal: [100000, 30]}}, y: {{normal: [100000, 3]}}}}'",
          program(), config, run, run));
  CAPTURE(ending.output);
  CHECK(ending.exit_code == 4);
  CHECK(ending.seconds < 20 + 5 * patience);
  CHECK(count(ending.output, "meshwork: nothing got on for ") == 1);
  CHECK(contains(ending.output, "rank 1 says nothing: stopped, or gone; the job ends here\n"));
  for (const auto& entry : std::filesystem::directory_iterator(run)) {
    CHECK_FALSE(contains(entry.path().string(), "stalled"));
  }
}

TEST_CASE("a checkpoint that lost something is told once, and the one before it is as good") {
  const TempDirectory directory;
  const std::string config = write_config(directory);
  const std::string whole = directory.file("whole");
  const std::string expected = output(program() + fit(config, whole));
  const std::string run = directory.file("run");
  const std::string newest = run + "/checkpoints/step-200-2";
  const std::string part = newest + "/part-00001.safetensors";
  struct Case {
    std::string command, message;
  };
  for (const Case& each : {Case{"rm " + part, part + ": cannot open: No such file"},
                           Case{"truncate -s -100 " + part, part + ": cannot read "},
                           Case{"printf 'XYZ' | dd conv=notrunc status=none bs=1 seek=$(($(stat -c "
                                "%s " +
                                    part + ") - 200)) of=" + part,
                                part + ": damaged: bytes "}}) {
    output(fmt::format("cp -r {} {}; rm {}/final.safetensors", whole, run, run));
    output(each.command);
    const std::string again = fit(config, run) + " --resume";
    const Ending ending = run_job(under_mpirun(4) + again);
    CAPTURE(ending.output);
    CHECK(ending.exit_code == 3);
    CHECK(count(ending.output, "meshwork: " + each.message) == 1);
    CHECK(contains(ending.output,
                   "; remove " + newest + ", and --resume takes the checkpoint before it\n"));
    std::filesystem::remove_all(newest);
    CHECK(output(under_mpirun(4) + again) == expected);
    std::filesystem::remove_all(run);
  }
}

TEST_CASE("elastic.sh goes on with the ranks that are left") {
  const TempDirectory directory;
  const std::string config = write_config(directory), run = directory.file("run");
  const std::string elastic = std::filesystem::absolute("scripts/elastic.sh").string();
  const Ending ending = run_job(fmt::format(
      "{} -n 4 {} fit {} --mesh data=-1 --verbose 0 layout_map=null optimizer_layout=null "
      "run_directory={} fit.epochs=8 & "
      "P=$!\n{}kill -KILL $(pgrep -P $(pgrep -P $P 'mpirun|prterun') | tail -n 1)\nwait $P",
      elastic, program(), config, run, wait_for(run + "/checkpoints/*/index.json")));
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

TEST_CASE("elastic.sh tells a lost machine from an error, and starts nothing behind a signal") {
  const TempDirectory directory;
  const std::string starts = directory.file("starts");
  const auto stand_in = [&](const std::string& name, const std::string& script) {
    write_text(directory.file(name), "#!/bin/sh\n" + script);
    std::filesystem::permissions(directory.file(name), std::filesystem::perms::owner_all);
  };
  const auto run = [&](const std::string& around) {
    std::filesystem::remove(starts);
    const std::string elastic =
        fmt::format("PATH={}:$PATH {} -n 2 --hosts a:1,b:1 any", directory.path(),
                    std::filesystem::absolute("scripts/elastic.sh").string());
    return run_job(fmt::format(fmt::runtime(around), elastic));
  };
  stand_in("ssh", "exit 0\n");
  // mpirun itself ends with 1 when it loses a machine.
  const auto ends_with_1_behind = [&](const std::string& line) {
    stand_in("mpirun", fmt::format("echo start >> {0}\n[ $(wc -l < {0}) = 1 ] || exit 0\n"
                                   "echo 'meshwork: {1}' >&2\nexit 1\n",
                                   starts, line));
    return run("{}").exit_code;
  };
  CHECK(ends_with_1_behind("warning: of something") == 0);
  CHECK(ends_with_1_behind("note: of something") == 0);
  CHECK(ends_with_1_behind("not what it should be") == 1);
  CHECK(read_text(starts) == "start\n");
  stand_in("ssh", fmt::format("touch {}\nsleep 1\n", directory.file("asked")));
  const Ending stopped =
      run("{} & P=$!\n" + wait_for(directory.file("asked")) + "kill -TERM $P\nwait $P");
  CHECK(stopped.exit_code == 75);
  CHECK_FALSE(std::filesystem::exists(starts));
}
