#include <doctest/doctest.h>

#include <filesystem>
#include <regex>

#include "cli/job_folder.h"

using namespace meshwork::cli;

namespace {

/// Two runs of two epochs: steps 3 and 6.
struct Runs : JobFolder {
  Runs() {
    train(*this, "run_directory=a --mesh 2x1");
    train(*this, "run_directory=b seed=8");
  }
};

}  // namespace

TEST_CASE("checkpoint list and show say how far a run was, and what it holds") {
  const Runs folder;
  const std::string list = output(folder, "checkpoint list a");
  CHECK(list.starts_with("a/checkpoints/step-3: step 3, epoch 1, accuracy 0."));
  CHECK(list.find("\na/checkpoints/step-6: step 6, epoch 2, accuracy ") != std::string::npos);
  const std::string show = output(folder, "checkpoint show a");
  CHECK(show.starts_with("a/checkpoints/step-6: step 6, epoch 2"));
  CHECK(show.find("  d1/kernel ") != std::string::npos);
  CHECK(
      output(folder, "checkpoint show a/checkpoints/step-3").starts_with("a/checkpoints/step-3:"));
}

TEST_CASE("checkpoint list names one that is damaged, and goes on") {
  const Runs folder;
  folder.write("a/checkpoints/step-3/index.json", "half");
  const Finished listed = folder.run("checkpoint list a");
  CHECK(listed.exit_code == 3);
  CHECK(listed.err ==
        "meshwork: a/checkpoints/step-3/index.json: not a good index of a checkpoint: it is not "
        "JSON, at byte 1; remove a/checkpoints/step-3, and --resume takes the checkpoint before "
        "it\n");
  CHECK(listed.out.starts_with("a/checkpoints/step-6: step 6, epoch 2"));
}

TEST_CASE("checkpoint list tells of a run that was killed") {
  const JobFolder folder;
  train(folder);
  const std::string record = folder.read("run/run.json");
  CHECK(record.find("\"process\": {") != std::string::npos);
  output(folder, "checkpoint list run");
  const std::string status = "\"status\": \"completed\"";
  REQUIRE(record.find(status) != std::string::npos);
  folder.write("run/run.json", std::string(record).replace(record.find(status), status.size(),
                                                           "\"status\": \"running\""));
  CHECK(
      folder.run("checkpoint list run").err ==
      "meshwork: note: run/run.json says 'running', but no process has the run: it was killed, or "
      "could not write its end\n");
  // A run that goes on holds this lock.
  const Finished held = run_command("cd '" + folder.path.string() + "' && flock run/.lock '" +
                                    program_path().string() + "' checkpoint list run");
  CHECK(held.exit_code == 0);
  CHECK(held.err == "");
}

TEST_CASE("checkpoint verify finds a flipped bit") {
  const Runs folder;
  CHECK(output(folder, "checkpoint verify a") ==
        "a/checkpoints/step-3: all checksums are right\n"
        "a/checkpoints/step-6: all checksums are right\n");
  const std::string part = "a/checkpoints/step-6/part-00000.safetensors";
  std::string bytes = folder.read(part);
  bytes.back() = static_cast<char>(bytes.back() ^ 64);
  folder.write(part, bytes);
  CHECK(complaint(folder, "checkpoint verify a/checkpoints/step-6", 3)
            .starts_with(part + ": damaged: bytes "));
  CHECK(complaint(folder, "fit c.yaml run_directory=a --resume --mesh 1x1", 3)
            .starts_with(part + ": damaged: bytes "));
}

TEST_CASE("a position that is no whole number is not gone on from") {
  const Runs folder;
  const std::string index = "a/checkpoints/step-6/index.json";
  const std::string good = folder.read(index);
  for (const char* key : {"\"steps\":", "\"epoch\":", "\"iteration\":"}) {
    const std::size_t at = good.rfind(key);  // not of the metrics, which begin anew
    REQUIRE(at != std::string::npos);
    std::string bad = good;
    bad.insert(at + std::string(key).size(), "1e300,\"it was\":");
    bad = std::regex_replace(bad, std::regex(",\"xxh3\":\"[0-9a-f]+\"}"), "}");  // as if it fitted
    folder.write(index, bad);
    CAPTURE(key);
    CHECK(complaint(folder, "fit c.yaml run_directory=a --resume", 3)
              .starts_with("a/checkpoints/step-6: its state is damaged: "));
  }
}

TEST_CASE("checkpoint diff names the tensors that differ") {
  const Runs folder;
  CHECK(output(folder, "checkpoint diff a a").ends_with("\n"));
  CHECK(output(folder, "checkpoint diff a a").starts_with("0 of "));
  const Finished differ = folder.run("checkpoint diff a b");
  CHECK(differ.exit_code == 1);
  CHECK(differ.out.find("d1/kernel: differs by at most ") != std::string::npos);
}

TEST_CASE("checkpoint prune leaves the newest ones and the best one") {
  const Runs folder;
  CHECK(output(folder, "checkpoint prune a --keep 1") == "removed a/checkpoints/step-3\n");
  CHECK(output(folder, "checkpoint list a").starts_with("a/checkpoints/step-6"));
  CHECK(output(folder, "checkpoint prune a --keep 1") == "");
  CHECK(complaint(folder, "checkpoint prune none", 3) ==
        "none: neither a checkpoint nor a run directory with one");
  CHECK(complaint(folder, "checkpoint prune a/checkpoints/step-6", 3) ==
        "a/checkpoints/step-6: a checkpoint; name the run directory");
}

TEST_CASE("checkpoint says what it takes") {
  const JobFolder folder;
  CHECK(complaint(folder, "checkpoint", 2) ==
        "what to do with checkpoints? list, show, verify, diff, prune");
  CHECK(complaint(folder, "checkpoint lst a", 2) == "checkpoint: no action 'lst'; nearest: 'list'");
  CHECK(complaint(folder, "checkpoint list a --keep 3", 2) ==
        "checkpoint list takes no --keep: that is how many prune leaves");
  CHECK(complaint(folder, "checkpoint diff a", 2) == "checkpoint diff takes 2 directories, not 1");
  CHECK(complaint(folder, "checkpoint list none", 3) ==
        "none: neither a checkpoint nor a run directory with one");
}
