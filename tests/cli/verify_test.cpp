// meshwork verify: whether two meshes give the same training.
#include <doctest/doctest.h>

#include <regex>

#include "cli/job_folder.h"

using namespace meshwork::cli;

namespace {

std::string last_line(const std::string& text) {
  const std::size_t end = text.rfind('\n', text.size() - 2);
  return text.substr(end + 1, text.size() - end - 2);
}

}  // namespace

TEST_CASE("verify compares a mesh with one device, and writes nothing") {
  const JobFolder folder;
  const std::string text = output(folder, "verify c.yaml --steps 4");
  CHECK(
      text.starts_with("data=2,model=2 against data=1,model=1: 4 steps of 8 samples, tolerance "
                       "1e-05\n step  loss "));
  CHECK(std::count(text.begin(), text.end(), '\n') == 7);
  CHECK(std::regex_match(last_line(text), std::regex("verify same loss_difference=[0-9.e-]+")));
  CHECK_FALSE(folder.has("run"));
  CHECK(last_line(output(folder, "verify c.yaml --mesh 3x1 --against 1x4 fit.batch_size=7"))
            .starts_with("verify same "));
  CHECK(last_line(output(folder, "verify c.yaml precision=mixed_bfloat16 --against 4x1"))
            .starts_with("verify same "));
}

TEST_CASE("memory_limit holds for the mesh of the file, and not for what it is compared with") {
  const JobFolder folder;
  folder.write("s.yaml", R"(mesh: {data: 2, model: 2}
dataset:
  name: t
  format: synthetic
  splits: {train: {x: {normal: [64, 256]}, y: {normal: [64, 256]}}}
layout_map: {up/kernel: [null, model], down/kernel: [model]}
model: {input: [256], layers: [Dense: {name: up, units: 1024}, Dense: {name: down, units: 256}]}
compile: {optimizer: adam, loss: mse}
fit: {batch_size: 16}
run_directory: run
memory_limit: 5 MiB
)");
  CHECK(last_line(output(folder, "verify s.yaml --steps 1")).starts_with("verify same "));
  CHECK(complaint(folder, "verify s.yaml --steps 1 --mesh 1x1 --against 2x2", 2)
            .find(" on device 0 of the mesh (data=1, model=1): ") != std::string::npos);
}

TEST_CASE("verify begins with trained weights") {
  const JobFolder folder;
  train(folder);
  const std::string fresh = output(folder, "verify c.yaml --steps 1");
  const std::string trained = output(folder, "verify c.yaml --steps 1 --from run");
  CHECK(last_line(trained).starts_with("verify same "));
  CHECK(trained != fresh);
}

TEST_CASE("a mesh repeats its bits, and another one has others: exit code 5") {
  const JobFolder folder;
  CHECK(last_line(output(folder, "verify c.yaml --against 2x2 --tolerance 0")) ==
        "verify same loss_difference=0");
  const Finished run = folder.run("verify c.yaml --mesh 5x1 --tolerance 0");
  CHECK(run.exit_code == 5);
  CHECK(run.err.empty());
  CHECK(std::regex_search(
      run.out, std::regex("they differ from step [0-9]+ on: ('[a-z0-9/_]+' at \\[[0-9, ]+\\]|the "
                          "loss) is [-0-9.e]+ and [-0-9.e]+\n")));
  CHECK(std::regex_match(
      last_line(run.out),
      std::regex("verify differs step=[0-9]+ tensor=[a-z0-9/_]+ difference=[0-9.e-]+")));
}

TEST_CASE("verify says what it cannot compare") {
  const JobFolder folder;
  CHECK(complaint(folder, "verify c.yaml --mesh 1x1", 2) ==
        "c.yaml: the mesh data=1,model=1 is one device, and --against is one device by default: "
        "name another mesh");
  CHECK(complaint(folder, "verify c.yaml --steps 0", 2) ==
        "--steps must be a whole number from 1 to 9223372036854775807, not '0'");
  CHECK(complaint(folder, "verify c.yaml --tolerance -1", 2) ==
        "--tolerance must be 0 or more, not -1");
  CHECK(complaint(folder, "verify c.yaml --against data=4", 2).find("mesh") != std::string::npos);
  const Finished ranks =
      run_program("verify configs/uneven.yaml", "OMPI_COMM_WORLD_SIZE=6 OMPI_COMM_WORLD_RANK=0");
  CHECK(ranks.exit_code == 2);
  CHECK(ranks.err.find("start it without mpirun") != std::string::npos);
}
