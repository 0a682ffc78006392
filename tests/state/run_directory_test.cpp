#include "state/run_directory.h"

#include <doctest/doctest.h>
#include <sched.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <future>
#include <set>
#include <vector>

#include "base/host_name.h"
#include "comm/single.h"
#include "comm/thread.h"
#include "support/errors.h"
#include "support/temp_directory.h"

namespace meshwork {
namespace {

using test::error_of;
using test::TempDirectory;
using test::write_text;

struct Opened {
  std::string path;
  std::string newest;
};

Opened open(const std::string& path, Rerun rerun = Rerun::kRefuse) {
  const World world = single_world({});
  const RunDirectory directory(path, rerun, *world.hosts);
  return {directory.path(), directory.newest_checkpoint()};
}

void remove_old(const std::string& path) {
  const World world = single_world({});
  RunDirectory(path, Rerun::kOverwrite, *world.hosts).remove_old();
}

std::string error_in(const std::string& path, Rerun rerun = Rerun::kRefuse) {
  return error_of([&] { open(path, rerun); });
}

/// Something that looks like a whole checkpoint.
std::string add_checkpoint(const std::string& run, int steps) {
  const std::string path = run + "/checkpoints/step-" + std::to_string(steps);
  std::filesystem::create_directories(path);
  write_text(path + "/index.json", "{}");
  return path;
}

TEST_CASE("a run directory is made with its parents; one without weights can be used again") {
  const TempDirectory directory;
  const std::string run = directory.file("runs/deep/guide");
  CHECK(open(run).path == run);
  write_text(run + "/metrics.csv", "epoch\n");
  CHECK(open(run).newest.empty());
  CHECK(test::read_text(run + "/metrics.csv") == "epoch\n");
}

TEST_CASE("what a run has left is not lost by accident") {
  const TempDirectory directory;
  const std::string run = directory.file("run");
  const auto refusal = [&](const std::string& left) {
    return "3: " + run + ": a run has left " + left +
           " in it; go on with --resume, take the next free name with --new, remove it with "
           "--overwrite, or set run_directory";
  };
  open(run);
  CHECK(error_in(run, Rerun::kResume) ==
        "3: " + run + ": no checkpoint in it to resume from; leave --resume out");
  CHECK(open(run, Rerun::kResumeIfAny).newest.empty());
  add_checkpoint(run, 9);
  const std::string newest = add_checkpoint(run, 10);
  CHECK(error_in(run) == refusal("checkpoints/step-10"));
  CHECK(open(run, Rerun::kResume).newest == newest);
  CHECK(open(run, Rerun::kResumeIfAny).newest == newest);
  write_text(run + "/final.safetensors", "weights");
  CHECK(error_in(run) == refusal("final.safetensors"));
  CHECK(open(run, Rerun::kNew).path == run + "-2");
  CHECK(open(run, Rerun::kNew).path == run + "-3");
  CHECK(open(run, Rerun::kOverwrite).newest.empty());
  CHECK(std::filesystem::exists(newest));
  remove_old(run);
  CHECK_FALSE(std::filesystem::exists(run + "/final.safetensors"));
  CHECK_FALSE(std::filesystem::exists(newest));
  CHECK(open(run).path == run);
  // Final weights without a checkpoint are nothing to go on from.
  write_text(run + "/final.safetensors", "weights");
  CHECK(error_in(run, Rerun::kResumeIfAny) == refusal("final.safetensors"));
}

TEST_CASE("runs that look for a free name at the same time find different ones") {
  const TempDirectory directory;
  const std::string run = directory.file("runs/run");
  std::vector<std::future<std::string>> paths;
  for (int i = 0; i < 8; ++i) {
    paths.push_back(std::async(std::launch::async, [&] { return open(run, Rerun::kNew).path; }));
  }
  std::set<std::string> names;
  for (std::future<std::string>& path : paths) names.insert(path.get());
  CHECK(names.size() == 8);
  CHECK(names.contains(run));
  CHECK(names.contains(run + "-8"));
}

TEST_CASE("leftovers of killed runs go") {
  const TempDirectory directory;
  const std::string run = directory.file("run");
  const std::string unfinished = run + "/checkpoints/step-7";
  std::filesystem::create_directories(unfinished);
  write_text(unfinished + "/part-00000.safetensors", "half");
  const std::string half = partial_name(run + "/final.safetensors");
  write_text(half, "half");
  // What others have there stays, whatever its name.
  const std::string notes = run + "/checkpoints/step-999";
  std::filesystem::create_directories(notes);
  const std::vector<std::string> theirs{notes + "/notes.txt", run + "/mine.partial",
                                        partial_name(run + "/predictions.npy")};
  for (const std::string& file : theirs) write_text(file, "mine");
  open(run);
  CHECK_FALSE(std::filesystem::exists(unfinished));
  CHECK_FALSE(std::filesystem::exists(half));
  for (const std::string& file : theirs) CHECK(std::filesystem::exists(file));
}

TEST_CASE("leftovers of what the run writes beside weights go, too") {
  const TempDirectory directory;
  const std::string run = directory.file("run");
  std::filesystem::create_directories(run);
  const std::string own = partial_name(run + "/log.csv");
  const std::string other = partial_name(run + "/other.csv");
  for (const std::string& file : {own, other}) write_text(file, "half");
  const World world = single_world({});
  const RunDirectory held(run, Rerun::kRefuse, *world.hosts, {"log.csv"});
  CHECK_FALSE(std::filesystem::exists(own));
  CHECK(std::filesystem::exists(other));
}

TEST_CASE("a run that is refused takes nothing away") {
  const TempDirectory directory;
  const std::string run = directory.file("run");
  std::filesystem::create_directories(run + "/checkpoints/step-7");
  const std::string half = partial_name(run + "/metrics.csv");
  write_text(half, "half");
  write_text(run + "/final.safetensors", "whole");
  CHECK_FALSE(error_in(run).empty());
  CHECK(std::filesystem::exists(run + "/checkpoints/step-7"));
  CHECK(std::filesystem::exists(half));
}

TEST_CASE("a directory has one run at a time, of all its devices") {
  const TempDirectory directory;
  const std::string run = directory.file("run");
  run_devices(3, [&](World& world) {
    const RunDirectory held(run, Rerun::kRefuse, *world.hosts);
    CHECK(held.path() == run);
    world.hosts->barrier();
    if (world.hosts->rank() == 0) {
      const std::string error = error_in(run, Rerun::kOverwrite);
      CHECK(error.starts_with("3: " + run + ": another run, process " + std::to_string(getpid())));
      CHECK(
          error.ends_with("writes to it; wait for it, set run_directory, or take the next free "
                          "name with --new"));
    }
    world.hosts->barrier();
  });
  CHECK(open(run).path == run);
}

TEST_CASE("a directory that has been moved, or that another run has made, is not held") {
  const TempDirectory directory;
  const std::string run = directory.file("run"), moved = directory.file("moved");
  run_devices(2, [&](World& world) {
    const RunDirectory held(run, Rerun::kRefuse, *world.hosts);
    CHECK(held.is_held());
    if (world.hosts->rank() == 1) return;
    const auto holder = holder_of(run);
    CHECK(holder);
    std::filesystem::rename(run, moved);
    CHECK_FALSE(held.is_held());
    CHECK_FALSE(holder_of(run));
    open(run);
    CHECK_FALSE(held.is_held());
    CHECK_FALSE(holder_of(run) == holder);
    CHECK(holder_of(moved) == holder);
    CHECK(error_of([&] { held.check_held(); }) ==
          "3: " + run +
              ": the run directory has been moved or removed, and another run may have this place");
    std::filesystem::remove_all(run);
    std::filesystem::rename(moved, run);
    held.check_held();
  });
}

TEST_CASE("a place where nothing can be written is refused, on all devices") {
  const TempDirectory directory;
  const std::string way_out = "; set run_directory to a place that can be written";
  const std::string file = directory.file("file");
  write_text(file, "text");
  CHECK(error_in(file + "/run") ==
        "3: " + file + "/run: cannot create the run directory: Not a directory" + way_out);
  const std::string in_place = error_in(file);
  CHECK(in_place.starts_with("3: " + file + ": "));
  CHECK(in_place.ends_with(way_out));
  CHECK(test::read_text(file) == "text");
  CHECK(error_in("") == "3: run_directory is empty" + way_out);
  if (geteuid() != 0) {  // to root nothing is forbidden
    const std::string closed = directory.file("closed");
    CHECK(mkdir(closed.c_str(), 0500) == 0);
    CHECK(error_in(closed) ==
          "3: " + closed + "/.lock: cannot open to write: Permission denied" + way_out);
  }
  run_devices(2, [&](World& world) {
    CHECK(error_of([&] { RunDirectory(file, Rerun::kRefuse, *world.hosts); }) == in_place);
  });
}

TEST_CASE("a place that each machine has for itself is refused, on all devices") {
  const TempDirectory directory;
  for (const char* machine : {"0", "1"}) std::filesystem::create_directory(directory.file(machine));
  run_devices(2, [&](World& world) {
    // A working directory of this thread alone.
    REQUIRE(unshare(CLONE_FS) == 0);
    const int rank = world.hosts->rank();
    REQUIRE(chdir(directory.file(std::to_string(rank)).c_str()) == 0);
    CHECK(error_of([&] { RunDirectory("run", Rerun::kRefuse, *world.hosts); }) ==
          "3: run: what rank 0 writes there is not to be seen on " + host_name() +
              ", by rank 1; set run_directory to a place that all machines share");
  });
  CHECK_FALSE(std::filesystem::exists(directory.file("1/run")));
}

}  // namespace
}  // namespace meshwork
