// Checkpoints of a run that are kept, and those that could not be written.
#include "train/checkpointer.h"

#include <doctest/doctest.h>
#include <pthread.h>

#include <filesystem>
#include <thread>

#include "comm/single.h"
#include "comm/thread.h"
#include "support/temp_directory.h"

namespace meshwork {
namespace {

namespace fs = std::filesystem;

using test::TempDirectory;

/// While it lives the system has no memory for the stack of another thread.
class NoThreads {
 public:
  NoThreads() {
    pthread_attr_init(&before_);
    pthread_getattr_default_np(&before_);
    pthread_attr_t huge;
    pthread_attr_init(&huge);
    pthread_attr_setstacksize(&huge, std::size_t{1} << 50U);
    pthread_setattr_default_np(&huge);
    pthread_attr_destroy(&huge);
  }
  ~NoThreads() {
    pthread_setattr_default_np(&before_);
    pthread_attr_destroy(&before_);
  }
  NoThreads(const NoThreads&) = delete;
  NoThreads& operator=(const NoThreads&) = delete;

 private:
  pthread_attr_t before_;
};

/// A run whose checkpoints have two numbers.
class Run {
 public:
  explicit Run(const TempDirectory& directory, bool async = false)
      : config_(config::parse_config("model: {input: [2], layers: [{Dense: {units: 1}}]}\n"
                                     "compile: {loss: mse}\n"
                                     "checkpoint: {keep: 1, fallback: '" +
                                         directory.file("other") + "'}\n",
                                     "c.yaml", {})),
        directory_(directory.file("run"), Rerun::kRefuse, *world_.hosts),
        checkpointer(*world_.hosts, config_, directory_, async,
                     [this](const std::string& line) { said += line + "\n"; }) {}

  void save(std::int64_t steps, std::optional<double> best = std::nullopt,
            std::int64_t elements = 2) {
    const Shape shape{elements};
    const auto read = [this](std::int64_t begin, std::int64_t) {
      return reinterpret_cast<const std::byte*>(values_) + begin;
    };
    Snapshot snapshot{steps, {{"w", DType::kFloat32, shape}}, {}, "{}"};
    if (elements == 2) snapshot.parts.push_back({0, whole_region(shape), shape, read});
    checkpointer.save(std::move(snapshot), best);
  }

 private:
  const float values_[2]{1, 2};
  World world_ = single_world({});
  config::Config config_;
  RunDirectory directory_;

 public:
  std::string said;
  Checkpointer checkpointer;
};

TEST_CASE("a checkpoint is the best one when it is there, and one in the second place goes then") {
  const TempDirectory directory;
  Run run(directory);
  const std::string checkpoints = directory.file("run/checkpoints");
  test::write_text(checkpoints, "no directory");
  run.save(1, 0.5);
  const std::string elsewhere = run.checkpointer.elsewhere();
  CHECK(is_checkpoint(elsewhere));
  CHECK(run.checkpointer.best() == "");
  CHECK_FALSE(run.checkpointer.best_value());
  fs::remove(checkpoints);
  run.save(2, 0.75);
  CHECK(run.checkpointer.best() == "step-2");
  CHECK(run.checkpointer.best_value() == 0.75);
  CHECK(run.checkpointer.elsewhere() == "");
  CHECK(fs::is_empty(directory.file("other")));
  run.save(3);
  run.save(4);
  CHECK(list_checkpoints(checkpoints) ==
        std::vector<std::string>{checkpoints + "/step-2", checkpoints + "/step-4"});
}

TEST_CASE("a run whose directory has been moved takes nothing of the run that has its place now") {
  const TempDirectory directory;
  Run run(directory);
  run.save(1);
  const std::string path = directory.file("run"), moved = directory.file("moved");
  fs::rename(path, moved);
  const std::string theirs = path + "/checkpoints/step-9";
  fs::create_directories(theirs);
  for (const std::string& file :
       {theirs + "/index.json", path + "/.lock", path + "/final.safetensors"}) {
    test::write_text(file, "{}");
  }
  run.save(2);
  CHECK(run.said.find(path +
                      ": the run directory has been moved or removed, and another run may "
                      "have this place; it is in " +
                      directory.file("other")) != std::string::npos);
  CHECK(is_checkpoint(run.checkpointer.elsewhere()));
  CHECK(list_checkpoints(path + "/checkpoints") == std::vector<std::string>{theirs});
  CHECK(fs::exists(path + "/final.safetensors"));
  CHECK(is_checkpoint(moved + "/checkpoints/step-1"));
  fs::remove_all(path);
  run.save(3);
  CHECK_FALSE(fs::exists(path));
  fs::rename(moved, path);
  run.save(4);
  CHECK(run.checkpointer.elsewhere() == "");
  CHECK(list_checkpoints(path + "/checkpoints") ==
        std::vector<std::string>{path + "/checkpoints/step-4"});
}

TEST_CASE("a checkpoint is written where the system has no thread for it") {
  const TempDirectory directory;
  Run run(directory, true);
  {
    const NoThreads none;
    CHECK_THROWS(std::thread([] {}).join());
    run.save(1);
    CHECK(run.checkpointer.has_written());
    run.checkpointer.complete();
  }
  CHECK(run.said == "");
  CHECK(is_checkpoint(directory.file("run/checkpoints/step-1")));
}

TEST_CASE("what cannot be looked at beside the checkpoints costs a warning, and keeps no other") {
  const TempDirectory directory;
  Run run(directory);
  run.save(1);
  const std::string odd = directory.file("run/checkpoints/step-7");
  fs::create_directory(odd);
  fs::create_symlink("index.json", odd + "/index.json");
  run.save(2);
  CHECK(run.said == "warning: not counted among the checkpoints, and not removed: " + odd +
                        "/index.json: cannot tell whether a checkpoint is there: Too many levels "
                        "of symbolic links\n");
  CHECK(run.checkpointer.newest() == directory.file("run/checkpoints/step-2"));
  CHECK(run.checkpointer.failure() == "");
  CHECK_FALSE(fs::exists(directory.file("run/checkpoints/step-1")));
  CHECK(fs::exists(odd));
}

TEST_CASE("the second place is that of the first member for all") {
  const TempDirectory directory;
  run_devices(3, [&](World& world) {
    const RunDirectory run(directory.file("run"), Rerun::kRefuse, *world.hosts);
    config::Config config;
    // As if each had a $TMPDIR of its own.
    if (world.hosts->rank() != 1) {
      config.checkpoint.fallback = directory.file(std::to_string(world.hosts->rank()));
    }
    CHECK(fallback_of(config, run, *world.hosts).starts_with(directory.file("0/run-")));
  });
}

TEST_CASE("a checkpoint that has no place is not begun, not even the first") {
  const TempDirectory directory;
  Run run(directory);
  run.save(1, std::nullopt, std::int64_t{1} << 50);
  CHECK(run.said.find("run/checkpoints: 4.00 PiB are to be written, and ") != std::string::npos);
  CHECK(run.said.find("; nor in " + directory.file("other")) != std::string::npos);
  run.save(2);
  CHECK(is_checkpoint(directory.file("run/checkpoints/step-2")));
}

}  // namespace
}  // namespace meshwork
