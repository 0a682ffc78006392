// Whole runs on GPUs: ranks do what threads do, however they reach each other's memory.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <cstdlib>
#include <string>

#include "gpu_config.h"
#include "program.h"
#include "support/log_text.h"
#include "support/temp_directory.h"

namespace {

using namespace meshwork::test;

/// Calls of all kinds, large ones and small ones.
std::string write_config(const TempDirectory& directory) {
  return write_gpu_config(
      directory, "mesh: {data: 2, model: 2}\noptimizer_layout: {'a/kernel': [data, null]}", 1400);
}

/// A run that goes on for long, in which a rank gets a signal once there is a checkpoint.
Ending run_with_signal(const TempDirectory& directory, const char* signal) {
  const std::string run = directory.file(signal);
  return run_job(fmt::format(
      "/usr/bin/env mpirun --oversubscribe -n 4 {} & P=$!\n"
      "{}kill -{} {}\nwait $P",
      program() + fit(write_config(directory), run,
                      "fit.epochs=100000 'stall_timeout=2 s' checkpoint.every='10 steps'"),
      wait_for(run + "/checkpoints/*"), signal, process_of(1)));
}

}  // namespace

TEST_CASE("steps that take long on a GPU are no job that stands still") {
  const TempDirectory directory;
  const std::string config = write_gpu_config(directory, "mesh: {data: 1, model: 1}", 64);
  const Ending run =
      run_job("export EMULATED_GPU_SLOW_PRODUCTS=100000\n" + program() +
              fit(config, directory.file("run"), "fit.epochs=1 'stall_timeout=1.5 s'"));
  CHECK_MESSAGE(run.exit_code == 0, run.output);
}

TEST_CASE("a GPU that cannot be used is told of, and device: auto takes the CPU instead") {
  if (std::getenv("EMULATED_GPUS") == nullptr) return;  // a real one is what it is
  const TempDirectory directory;
  const std::string config = write_gpu_config(directory, "mesh: {data: 1, model: 1}", 8);
  const auto train = [&](const std::string& capability, const std::string& device) {
    const Ending run =
        run_job("export EMULATED_GPU_CAPABILITY=" + capability + "\n" + program() +
                fit(config, directory.file("run"), "--overwrite fit.epochs=1 --device " + device));
    return fmt::format("{} {}", run.exit_code, run.output);
  };
  CHECK(contains(train("13.0", "cuda"), "2 meshwork: device cuda: GPU 0 ("));
  CHECK(contains(train("13.0", "cuda"),
                 "has compute capability 13.0, which NVRTC 13.0 does not know; install a newer"));
  CHECK(contains(train("7.0", "cuda"), "has compute capability 7.0, 7.5 is needed"));
  CHECK(contains(train("7.0", "auto"), "0 final loss="));
  CHECK(contains(train("9.0", "auto"), "0 final loss="));
  CHECK(contains(train("12.3", "cuda"), "0 final loss="));  // as code for 12.1
}

TEST_CASE("ranks on GPUs train as threads do, to the last bit, however they reach each other") {
  const TempDirectory directory;
  const std::string config = write_config(directory);
  const std::string expected = output(program() + fit(config, directory.file("threads")));
  CHECK(contains(expected, " digest="));
  int number = 0;
  const auto check_same = [&](const std::string& environment, const std::string& first = "") {
    CAPTURE(environment);
    const std::string run = directory.file(fmt::format("ranks{}", ++number));
    const std::string mine = program() + fit(config, run);
    CHECK(output(fmt::format("export EMULATED_GPUS={}\nmpirun --oversubscribe -n 1 {}{} : -n 3 {}",
                             environment, first, mine, mine)) == expected);
    CHECK(read_log(run + "/final.safetensors") ==
          read_log(directory.file("threads") + "/final.safetensors"));
  };
  check_same("1");
  check_same("2");
  check_same("2 EMULATED_GPU_IPC=none");
  check_same("2", "env EMULATED_GPU_IPC=closed ");  // rank 0 is apart from the others
}

TEST_CASE("a rank with a GPU that is lost or stands still ends the job") {
  const TempDirectory directory;
  const Ending killed = run_with_signal(directory, "KILL");
  CAPTURE(killed.output);
  CHECK(killed.exit_code == 128 + 9);
  const Ending stopped = run_with_signal(directory, "STOP");
  CAPTURE(stopped.output);
  CHECK(stopped.exit_code == 4);
  CHECK(contains(stopped.output, "meshwork: nothing got on for "));
}

TEST_CASE("a GPU that fails on one rank ends the job") {
  const TempDirectory directory;
  const std::string mine =
      program() + fit(write_config(directory), directory.file("run"), "fit.epochs=100000");
  const Ending ending = run_job(fmt::format(
      "mpirun --oversubscribe -n 1 env EMULATED_GPU_FAIL_LAUNCH=300 {} : -n 3 {}", mine, mine));
  CAPTURE(ending.output);
  CHECK(ending.exit_code == 4);
  CHECK(contains(ending.output, "CUDA_ERROR_ILLEGAL_ADDRESS"));
}

TEST_CASE("what ranks on one GPU take together is held against its memory") {
  const TempDirectory directory;
  const Ending ending =
      run_job("export EMULATED_GPUS=1 EMULATED_GPU_MEMORY=6000000\n" + under_mpirun(4) +
              fit(write_config(directory), directory.file("run")));
  CAPTURE(ending.output);
  CHECK(ending.exit_code == 2);
  CHECK(contains(ending.output, "c.yaml: the 4 devices on GPU 0 (of device 0) take "));
  CHECK(contains(ending.output, " of its 5.72 MiB are free, of which "));
}
