#include "cli/cli.h"

#include <doctest/doctest.h>

#include <new>
#include <nlohmann/json.hpp>
#include <sstream>

#include "base/check.h"
#include "base/error.h"
#include "base/utf8.h"
#include "cli/command.h"
#include "cli/program.h"
#include "compile.h"

using namespace meshwork;
using namespace meshwork::cli;

namespace {

Ending ending(const std::exception_ptr& exception, int rank = 0) {
  return ending_of(exception, rank);
}

/// The exit code must be 2 and nothing may stand on the standard output.
std::string usage_error(const std::string& arguments) {
  const Finished run = run_program(arguments);
  CHECK(run.exit_code == 2);
  CHECK(run.out.empty());
  return run.err;
}

}  // namespace

TEST_CASE("an Error has its own exit code, and says which rank if not the first") {
  const auto error = std::make_exception_ptr(Error(ExitCode::kFile, "a.npy: too short"));
  CHECK(ending(error).exit_code == 3);
  CHECK(ending(error).message == "a.npy: too short");
  CHECK(ending(error, 5).exit_code == 3);
  CHECK(ending(error, 5).message == "rank 5: a.npy: too short");
}

TEST_CASE("bugs and empty memory are told by every rank") {
  const Ending check = ending(std::make_exception_ptr(CheckFailure("x.cpp:3: check failed")), 7);
  CHECK(check.exit_code == 1);
  CHECK(check.message.starts_with("rank 7: a bug of meshwork"));
  CHECK(check.message.find("x.cpp:3: check failed") != std::string::npos);
  CHECK(ending(std::make_exception_ptr(std::out_of_range("at"))).exit_code == 1);
  const Ending memory = ending(std::make_exception_ptr(std::bad_alloc()), 2);
  CHECK(memory.exit_code == 1);
  CHECK(memory.message.starts_with("rank 2: out of memory"));
}

TEST_CASE("help and version go to the standard output") {
  const Finished help = run_program("--help");
  CHECK(help.exit_code == 0);
  CHECK(help.err.empty());
  CHECK(help.out.find("Usage: meshwork COMMAND") != std::string::npos);
  CHECK(help.out.find("  validate ") != std::string::npos);
  CHECK(help.out.find("  devices ") != std::string::npos);
  CHECK(help.out.find("Exit codes:") != std::string::npos);
  CHECK(help.out.find("  verify ") != std::string::npos);
  CHECK(help.out.find("  plan ") != std::string::npos);
  const Finished validate = run_program("validate --help");
  CHECK(validate.exit_code == 0);
  CHECK(validate.out.find("Usage: meshwork validate CONFIG [key=value ...] [options]") !=
        std::string::npos);
  CHECK(validate.out.find("--mesh MESH") != std::string::npos);
  CHECK(validate.out.find("Examples:") != std::string::npos);
  const Finished version = run_program("--version");
  CHECK(version.exit_code == 0);
  CHECK(version.out.starts_with("meshwork 0."));
  CHECK(run_program("--help", "OMPI_COMM_WORLD_SIZE=2 OMPI_COMM_WORLD_RANK=1").out.empty());
}

TEST_CASE("help of commands that run a job names every pass of the compiler") {
  for (const char* command : {"fit", "evaluate", "predict"}) {
    const Finished help = run_program(std::string(command) + " --help");
    CHECK(help.exit_code == 0);
    for (const std::string& pass : pass_names()) {
      CAPTURE(pass);
      CHECK(help.out.find(pass) != std::string::npos);
    }
  }
}

TEST_CASE("no line of the help has more than 100 columns") {
  std::vector<std::string> names{""};
  for (const Command* command : commands()) names.emplace_back(command->name);
  for (const std::string& name : names) {
    std::istringstream help(run_program(name + " --help").out);
    for (std::string line; std::getline(help, line);) {
      CAPTURE(name);
      CAPTURE(line);
      CHECK(width_of(line) <= 100);
    }
  }
}

TEST_CASE("usage errors name what is near") {
  CHECK(usage_error("").starts_with("meshwork: no command given; known: 'fit', "));
  CHECK(usage_error("validte c.yaml") ==
        "meshwork: there is no command 'validte'; nearest: 'validate', 'evaluate'\n");
  CHECK(run_program("train c.yaml").err == "meshwork: there is no command 'train'; take 'fit'\n");
  CHECK(usage_error("validate --mseh 2x2 c.yaml") ==
        "meshwork: validate has no option '--mseh'; nearest: '--mesh'\n");
  CHECK(usage_error("validate c.yaml --mseh=2x2") ==
        "meshwork: validate has no option '--mseh'; nearest: '--mesh'\n");
  CHECK(usage_error("validate c.yaml -x").starts_with("meshwork: validate has no option '-x'"));
  CHECK(usage_error("--mesh 2x2 validate c.yaml")
            .starts_with("meshwork: there is no option '--mesh' before a command"));
  CHECK(usage_error("validate") ==
        "meshwork: no CONFIG given; name a configuration file, or see --help\n");
  CHECK(usage_error("validate c.yaml --mesh").starts_with("meshwork: --mesh: 1 required MESH "));
  CHECK(usage_error("devices now") == "meshwork: devices takes no argument 'now'; see --help\n");
}

TEST_CASE("an Error of a rank that fails alone is printed, too, once rank 0 has had its time") {
  const std::string job = "OMPI_COMM_WORLD_SIZE=4 OMPI_COMM_WORLD_RANK=";
  const Finished first = run_program("validate no.yaml", job + "0");
  CHECK(first.exit_code == 2);
  CHECK(first.err == "meshwork: no.yaml: cannot read the file; check the path\n");
  const Finished other = run_program("validate no.yaml", job + "3");
  CHECK(other.exit_code == 2);
  CHECK(other.err == "meshwork: rank 3: no.yaml: cannot read the file; check the path\n");
}

TEST_CASE("a full disk is no success") {
  const Finished run = run_program("devices", "sh -c 'exec \"$0\" \"$@\" >/dev/full'");
  CHECK(run.exit_code == 3);
  CHECK(run.err ==
        "meshwork: cannot write to standard output; is the disk full, or its reader gone?\n");
}

TEST_CASE("devices tells cores, memory and ranks") {
  const Finished alone = run_program("devices");
  CHECK(alone.exit_code == 0);
  for (const char* word : {"cores ", "memory ", "GiB", "features ", "virtual devices"}) {
    CAPTURE(word);
    CHECK(alone.out.find(word) != std::string::npos);
  }
  const std::string job = "OMPI_COMM_WORLD_SIZE=4 OMPI_COMM_WORLD_RANK=";
  CHECK(run_program("devices", job + "0").out.find("ranks      4") != std::string::npos);
  CHECK(run_program("devices", job + "1").out.empty());
}

TEST_CASE("a GPU that is not there is one line, before anything starts") {
  // No GPU is left of those that there may be.
  const std::string hidden = "CUDA_VISIBLE_DEVICES=";
  const Finished devices = run_program("devices", hidden);
  CHECK(devices.exit_code == 0);
  CHECK(devices.out.find("  GPUs       none: device cuda: ") != std::string::npos);
  const std::string fit = "fit configs/uneven.yaml run_directory=/nowhere/at/all --device ";
  const Finished run = run_program(fit + "cuda", hidden);
  CHECK(run.exit_code == 2);
  CHECK(run.out.empty());
  CHECK(run.err.starts_with("meshwork: device cuda: "));
  CHECK(run.err.find("say device: cpu") != std::string::npos);
  CHECK(std::count(run.err.begin(), run.err.end(), '\n') == 1);
  // auto takes what there is; a plan needs no GPU, but what knows of its kernels.
  const bool is_built = devices.out.find("built without CUDA") == std::string::npos;
  CHECK(run_program("paths configs/keras_guide.yaml --device auto", hidden).exit_code == 0);
  CHECK(run_program("paths configs/keras_guide.yaml --device cuda", hidden).exit_code ==
        (is_built ? 0 : 2));
  if (!is_built) return;
  // Sums that are launched side by side have scratch, of which the kernels know.
  const Finished plan =
      run_program("fit configs/uneven.yaml --mesh 2x2 --dump plan --device cuda", hidden);
  CHECK(plan.exit_code == 0);
  const std::size_t beside = plan.out.find(" beside %");
  REQUIRE(beside != std::string::npos);
  CHECK(plan.out.substr(beside, plan.out.find('\n', beside) - beside).find("= reduce_sum(") !=
        std::string::npos);
}

TEST_CASE("devices --json is for programs") {
  const auto alone = nlohmann::json::parse(run_program("devices --json").out);
  CHECK(alone.at("cores").get<int>() >= 1);
  CHECK(alone.at("memory").get<std::int64_t>() > 1 << 20);
  CHECK(alone.at("features").is_array());
  CHECK(alone.at("ranks").is_null());
  CHECK(alone.at("threads_per_device").get<int>() >= 1);
  const std::string job = "OMPI_COMM_WORLD_SIZE=4 OMPI_COMM_WORLD_LOCAL_SIZE=4 ";
  const auto ranks =
      nlohmann::json::parse(run_program("devices --json", job + "OMPI_COMM_WORLD_RANK=0").out);
  CHECK(ranks.at("ranks") == 4);
  CHECK(run_program("devices --json", job + "OMPI_COMM_WORLD_RANK=1").out.empty());
}
