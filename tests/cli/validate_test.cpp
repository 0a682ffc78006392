#include <doctest/doctest.h>

#include "cli/program.h"

using namespace meshwork::cli;
namespace fs = std::filesystem;

namespace {

constexpr const char* kConfig = R"(mesh: {data: 2, model: 4}
layout_map:
  d1/kernel: [null, model]
model:
  input: [4]
  layers:
    - Dense: {name: d1, units: 3}
compile: {loss: mse}
fit: {epochs: 3, batch_size: 16}
)";

/// c.yaml in a folder of its own, from which the program runs.
struct Folder {
  std::string path;

  Folder() {
    char name[] = "/tmp/meshwork_validate_XXXXXX";
    path = mkdtemp(name);
    std::ofstream(path + "/c.yaml") << kConfig;
  }
  ~Folder() { fs::remove_all(path); }

  Finished validate(const std::string& arguments) const {
    return run_program("validate " + arguments, "cd " + path + " &&");
  }
};

}  // namespace

TEST_CASE("validate says ok, and what it read") {
  const Folder folder;
  const Finished run = folder.validate("c.yaml");
  CHECK(run.exit_code == 0);
  CHECK(run.err.empty());
  CHECK(run.out ==
        "c.yaml: ok\n  mesh (data=2, model=4); model_parallel, 1 layout rule; 1 layer; "
        "rmsprop, mse; 3 epochs of batches of 16\n"
        "  the data could not be checked: c.yaml: no dataset; add 'dataset: fashion_mnist' or a "
        "description in place\n");
}

TEST_CASE("data that are missing are told, data that are damaged are an error") {
  const Folder folder;
  const std::string dataset =
      "c.yaml 'dataset={format: npy, splits: {train: {x: x.npy, y: x.npy}}}'";
  const Finished missing = folder.validate(dataset);
  CHECK(missing.exit_code == 0);
  CHECK(missing.out.find("  the data could not be checked: command line: ") != std::string::npos);
  std::ofstream(folder.path + "/x.npy") << "no array";
  const Finished damaged = folder.validate(dataset);
  CHECK(damaged.exit_code == 3);
  CHECK(damaged.err.find("x.npy: ") != std::string::npos);
}

TEST_CASE("--mesh and assignments come before or after the file") {
  const Folder folder;
  for (const char* arguments :
       {"c.yaml --mesh -1x2 fit.epochs=1", "--mesh -1x2 c.yaml fit.epochs=1",
        "--mesh=-1x2 c.yaml fit.epochs=1", "c.yaml fit.epochs=1 --mesh data=-1,model=2",
        "c.yaml 'layout_map.d1/kernel=[null, model]' fit.epochs=1 'mesh={data: -1, model: 2}'"}) {
    CAPTURE(std::string(arguments));
    const Finished run = folder.validate(arguments);
    CHECK(run.exit_code == 0);
    CHECK(run.out.find("mesh (data=-1, model=2); ") != std::string::npos);
    CHECK(run.out.find("1 epoch of batches of 16") != std::string::npos);
  }
}

TEST_CASE("mistakes end with their place and exit code 2") {
  const Folder folder;
  const auto error = [&](const std::string& arguments) {
    const Finished run = folder.validate(arguments);
    CHECK(run.exit_code == 2);
    CHECK(run.out.empty());
    return run.err;
  };
  CHECK(error("c.yaml fit.epoch=3") ==
        "meshwork: command line: 'fit.epoch=3': fit has no key 'epoch'; nearest: 'epochs'\n");
  CHECK(error("c.yaml --mesh data=8") ==
        "meshwork: c.yaml:3:21: layout_map: 'd1/kernel': the mesh (data=8) has no axis 'model'; "
        "known: 'data'\n");
  CHECK(error("c.yaml --mesh 8") ==
        "meshwork: command line: '--mesh 8': gives 1 size, but the mesh at c.yaml:1:7 has 2 (data, "
        "model); give as many, or name the axes\n");
  CHECK(error("c.yaml fit.callbacks=[EarlyStopping]") ==
        "meshwork: command line: 'fit.callbacks=[EarlyStopping]': callback EarlyStopping: monitor "
        "'val_loss' needs validation, and there is none; set fit.validation or validation_split, "
        "or monitor 'loss'\n");
  CHECK(error("c.yaml 'fit.callbacks=[ReduceLROnPlateau: {monitor: los}]'") ==
        "meshwork: command line: 'fit.callbacks=[ReduceLROnPlateau: {monitor: los}]': callback "
        "ReduceLROnPlateau: the run logs no 'los' to monitor; nearest: 'loss'\n");
  CHECK(error("c.yaml d.yaml") ==
        "meshwork: command line: 'd.yaml': is no assignment; write "
        "key=value, such as fit.epochs=3\n");
  CHECK(error(".") == "meshwork: .: is a folder; name a file in it\n");
}

TEST_CASE("every configuration that comes with Meshwork is all right") {
  int count = 0;
  for (const fs::directory_entry& entry : fs::directory_iterator(fs::absolute("configs"))) {
    if (entry.path().extension() != ".yaml") continue;
    const Finished run = run_program("validate '" + entry.path().string() + "'", "cd / &&");
    CHECK(run.exit_code == 0);
    CHECK(run.err == "");
    ++count;
  }
  CHECK(count >= 3);
}

TEST_CASE("validate holds every program of fit to memory_limit, and names its batch") {
  const Folder folder;
  std::ofstream(folder.path + "/c.yaml") << R"(mesh: {data: 1}
dataset:
  format: synthetic
  splits:
    train: {x: {normal: [68, 30]}, y: {integers: [68], below: 5}}
    test: {x: {normal: [4096, 30]}, y: {integers: [4096], below: 5}}
model: {input: [30], layers: [Dense: {units: 64, activation: relu}, Dense: {units: 5}]}
compile: {optimizer: sgd, loss: {SparseCategoricalCrossentropy: {from_logits: true}}}
fit: {batch_size: 8, validation: true, validation_batch_size: 4096}
memory_limit: 200 KiB
)";
  for (const char* command : {"validate", "fit"}) {
    const Finished run = run_program(std::string(command) + " c.yaml", "cd " + folder.path + " &&");
    CHECK(run.exit_code == 2);
    CHECK(
        run.err.starts_with("meshwork: c.yaml:10:15: memory_limit is 204800 bytes, but evaluation "
                            "with a batch of 4096 takes at least "));
    CHECK(run.err.find(" for the step; lower fit.validation_batch_size, take more devices") !=
          std::string::npos);
  }
  CHECK(folder.validate("c.yaml fit.validation_batch_size=8").exit_code == 0);
  const Finished variables =
      folder.validate("c.yaml fit.validation_batch_size=8 memory_limit=1KiB");
  CHECK(variables.err.find("lower fit.batch_size (gradient_accumulation_steps") !=
        std::string::npos);
}
