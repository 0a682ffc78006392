// Whole runs that exchange by NCCL: what ranks train, what is said of it, and how jobs end.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <cmath>
#include <filesystem>
#include <string>

#include "gpu_config.h"
#include "program.h"
#include "support/log_text.h"
#include "support/temp_directory.h"

namespace {

using namespace meshwork::test;

std::string write_config(const TempDirectory& directory) {
  return write_gpu_config(directory, "collectives: nccl\nmesh: {data: 1, model: 2}", 140);
}

double final_loss(const std::string& text) {
  const std::size_t at = text.find("final loss=");
  REQUIRE(at != std::string::npos);
  return std::stod(text.substr(at + 11));
}

/// A folder before all others of the loader, whose libnccl.so.2 is some other library.
std::string without_nccl(const TempDirectory& directory) {
  const std::string folder = directory.file("lib");
  std::filesystem::create_directory(folder);
  std::string emulated = std::getenv("LD_LIBRARY_PATH");
  emulated = emulated.substr(0, emulated.find(':'));
  std::filesystem::create_symlink(emulated + "/libcublasLt.so.13", folder + "/libnccl.so.2");
  return fmt::format("export LD_LIBRARY_PATH={}:$LD_LIBRARY_PATH\n", folder);
}

}  // namespace

TEST_CASE("ranks train by NCCL near what canonical collectives give, and the same each time") {
  const TempDirectory directory;
  const std::string config = write_config(directory);
  const auto check = [&](const std::string& mesh, int ranks) {
    CAPTURE(mesh);
    const auto run = [&](const std::string& name, const std::string& more = "") {
      return output(fmt::format(
          "export EMULATED_GPUS={}\n{}{}", ranks, under_mpirun(ranks),
          fit(config, directory.file(name + mesh), fmt::format("--mesh {} {}", mesh, more))));
    };
    const auto weights = [&](const std::string& name) {
      return read_log(directory.file(name + mesh) + "/final.safetensors");
    };
    const std::string first = run("first");
    CHECK(run("second") == first);
    CHECK(weights("second") == weights("first"));
    // Single steps, one looked at after the other, are the same.
    CHECK(run("checked", "debug.check_numerics=true") == first);
    const double canonical = final_loss(run("tree", "collectives=canonical"));
    CHECK(std::abs(canonical - final_loss(first)) < 1e-5 * canonical);
  };
  check("1x2", 2);
  check("2x1", 2);
  check("2x2", 4);
}

TEST_CASE("devices and explain say what exchanges") {
  const TempDirectory directory;
  const std::string config = write_config(directory);
  CHECK(contains(output(program() + " devices"),
                 "collectives: canonical; for 'collectives: nccl', NCCL 2."));
  CHECK(contains(output(program() + " devices --json"), "\"nccl\": \"NCCL 2."));
  const std::string explain = program() + " explain " + config;
  CHECK(
      contains(output(explain),
               "\ncollectives: nccl: sums have an order of NCCL's own: results depend on the mesh "
               "and on the machines, and are the same from run to run on the same ones\n"));
  CHECK(contains(output(explain + " a/kernel collectives=canonical"),
                 "\ncollectives: canonical: sums have one order, whatever the devices"));
  CHECK(contains(output(explain + " a/kernel --json"), "\"collectives\": \"nccl\""));
  CHECK(contains(output(explain + " --device cpu"),
                 "note: collectives: nccl has no effect on a CPU"));
}

TEST_CASE("what NCCL lacks is one line and exit code 2: itself, ranks, and a GPU for each") {
  const TempDirectory directory;
  const std::string run = fit(write_config(directory), directory.file("run"));
  const auto check_refused = [&](const std::string& command, const std::string& line) {
    const Ending ending = run_job(command);
    CAPTURE(ending.output);
    CHECK(ending.exit_code == 2);
    CHECK(contains(ending.output, "collectives: nccl: " + line));
    CHECK(contains(ending.output, "say collectives: canonical\n"));
    CHECK(count(ending.output, "meshwork: ") == 1);
  };
  const std::string hidden = without_nccl(directory);
  check_refused(hidden + program() + run, "libnccl.so.2 is not there, or is too old; install NCCL");
  check_refused(hidden + under_mpirun(2) + run, "libnccl.so.2 is not there, or is too old; ");
  check_refused(program() + run,
                "without mpirun the 2 devices of the mesh data=1,model=2 are threads of one "
                "process, where exchanges by NCCL may wait for each other for ever; start the same "
                "command by 'mpirun -n 2', or say collectives: canonical");
  CHECK(!std::filesystem::exists(directory.file("run")));
  check_refused("export EMULATED_GPUS=1\n" + under_mpirun(2) + run, "devices 0 and 1 share GPU 0");
  // A single device exchanges nothing, and needs none.
  CHECK(contains(output(hidden + program() + run + " --mesh 1x1"), "final loss="));
  CHECK(contains(output(hidden + program() + " devices"),
                 "for 'collectives: nccl', not there: libnccl.so.2 is missing, or too old"));
}

TEST_CASE("a rank that is lost ends a job by NCCL") {
  const TempDirectory directory;
  const std::string config = write_config(directory);
  const auto run_with_signal = [&](const char* signal) {
    const std::string run = directory.file(signal);
    return run_job(fmt::format(
        "/usr/bin/env mpirun --oversubscribe -n 2 {} & P=$!\n"
        "{}kill -{} {}\nwait $P",
        program() +
            fit(config, run, "fit.epochs=100000 'stall_timeout=2 s' checkpoint.every='10 steps'"),
        wait_for(run + "/checkpoints/*"), signal, process_of(1)));
  };
  const Ending killed = run_with_signal("KILL");
  CAPTURE(killed.output);
  CHECK(killed.exit_code == 128 + 9);
  const Ending stopped = run_with_signal("STOP");
  CAPTURE(stopped.output);
  CHECK(stopped.exit_code == 4);
  CHECK(contains(stopped.output, "meshwork: nothing got on for "));
}

TEST_CASE("a GPU, or an exchange, that fails on one device ends a job by NCCL") {
  const TempDirectory directory;
  const std::string config = write_config(directory);
  const auto mine = [&](const char* run) {
    return program() + fit(config, directory.file(run), "fit.epochs=100000");
  };
  const auto check_ends = [](const std::string& command, const std::string& text) {
    const Ending ending = run_job(command);
    CAPTURE(ending.output);
    CHECK(ending.exit_code == 4);
    CHECK(contains(ending.output, text));
    CHECK(contains(ending.output, "; it had come to "));
  };
  const auto ranks = [&](const char* environment, const char* run) {
    return fmt::format("mpirun --oversubscribe -n 1 env {} {} : -n 1 {}", environment, mine(run),
                       mine(run));
  };
  const std::string illegal = "CUDA_ERROR_ILLEGAL_ADDRESS", told = "(a member was told to fail)";
  check_ends(ranks("EMULATED_GPU_FAIL_LAUNCH=300", "lost"), illegal);
  check_ends(ranks("EMULATED_GPU_FAIL_NCCL=40", "failed"), told);
}
