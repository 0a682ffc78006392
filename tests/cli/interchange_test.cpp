// Files that Keras wrote (scripts/keras_round_trip.py --fixtures), and what goes back to it.
#include <vector>

#include "cli/job_folder.h"
#include "cli/keras_files.h"

using namespace meshwork::cli;

namespace {

namespace fs = std::filesystem;

const fs::path kFixtures = "tests/fixtures/interchange";

/// A model that Keras trained for three steps.
struct Fixture : JobFolder {
  explicit Fixture(const std::string& name) {
    for (const char* file : {"c.yaml", "x.npy", "y.npy", "expected.npy"}) {
      write(file, read_all(kFixtures / name / file));
    }
    write("theirs.weights.h5", unpacked(kFixtures / name / "theirs.weights.h5.gz"));
  }
};

std::vector<float> predicted(const Fixture& folder, const std::string& from) {
  output(folder, "predict c.yaml --verbose 0 --output p.npy --from " + from);
  const std::vector<float> values = floats(folder.read("p.npy"));
  REQUIRE(values.size() == 72);  // [24, 3]
  return values;
}

}  // namespace

TEST_CASE("a file of Keras gives Keras's outputs, and comes back in every format") {
  for (const char* name : {"images_2d", "branches", "blocks", "recurrent", "scaled", "adafactor"}) {
    CAPTURE(name);
    const Fixture folder(name);
    const std::vector<float> values = predicted(folder, "theirs.weights.h5");
    check_near(values, floats(folder.read("expected.npy")));
    for (const char* file : {"ours.weights.h5", "ours.keras", "ours.npz", "ours.safetensors"}) {
      const std::string words = "export theirs.weights.h5 --config c.yaml --output ";
      CHECK(output(folder, words + file).starts_with(std::string("wrote ") + file + ": "));
      CHECK(predicted(folder, file) == values);
    }
  }
}

TEST_CASE("the state of the optimizer goes out and comes back") {
  const Fixture folder("branches");
  const std::string first = train(folder, "--from theirs.weights.h5 run_directory=a");
  CHECK(first != train(folder, "--from theirs.weights.h5 --weights-only run_directory=b"));
  const std::string checkpoint = "a/checkpoints/step-3";
  output(folder, "export " + checkpoint + " --output ours.weights.h5");
  CHECK(train(folder, "--from ours.weights.h5 run_directory=c") ==
        train(folder, "--from " + checkpoint + " run_directory=d"));
  CHECK(output(folder, "export " + checkpoint + " --weights-only --output w.weights.h5") !=
        output(folder, "export " + checkpoint + " --output w.weights.h5"));
  const std::string other = complaint(
      folder, "fit c.yaml --verbose 0 --from ours.weights.h5 run_directory=e compile.optimizer=sgd",
      3);
  CHECK(other.find("its optimizer has 32 variables, sgd of the configuration 2; take") !=
        std::string::npos);
}

TEST_CASE("numbers that stand in place of slots in Keras's files come and go with the others") {
  const Fixture folder("adafactor");
  const std::string first = train(folder, "--from theirs.weights.h5 run_directory=a");
  CHECK(first != train(folder, "--from theirs.weights.h5 --weights-only run_directory=b"));
  // A matrix has three slots, a vector one and two numbers; steps and learning rate.
  CHECK(output(folder, "export a/checkpoints/step-3 --output ours.weights.h5")
            .starts_with("wrote ours.weights.h5: 30 tensors, "));
  CHECK(train(folder, "--from ours.weights.h5 run_directory=c") ==
        train(folder, "--from a/checkpoints/step-3 run_directory=d"));
  CHECK(output(folder, "checkpoint diff c/checkpoints/step-3 d/checkpoints/step-3")
            .starts_with("0 of "));
}

TEST_CASE("scale and counter of losses go out and come back with the state of the optimizer") {
  const Fixture folder("scaled");
  const std::string first = train(folder, "--from theirs.weights.h5 run_directory=a");
  CHECK(first != train(folder, "--from theirs.weights.h5 --weights-only run_directory=b"));
  output(folder, "export a/checkpoints/step-3 --output ours.weights.h5");
  train(folder, "--from ours.weights.h5 run_directory=c");
  train(folder, "--from a/checkpoints/step-3 run_directory=d");
  CHECK(output(folder, "checkpoint diff c/checkpoints/step-3 d/checkpoints/step-3") ==
        "0 of 33 tensors differ\n");
  const std::string differ =
      folder.run("checkpoint diff a/checkpoints/step-3 d/checkpoints/step-3").out;
  CHECK(differ.find("adam/iteration: differs by at most 3\n") != std::string::npos);
  CHECK(differ.find("loss_scale_optimizer/dynamic_scale: differs by") != std::string::npos);
  const std::string other = complaint(
      folder, "fit c.yaml --verbose 0 --from ours.weights.h5 run_directory=e compile.optimizer=sgd",
      3);
  CHECK(other.find("of the configuration 2; take") != std::string::npos);
}

TEST_CASE("export of a run takes its final weights, and says what it needs") {
  const JobFolder folder;
  train(folder);
  CHECK(output(folder, "export run --output run.npz").starts_with("wrote run.npz: 4 tensors, "));
  CHECK(output(folder, "evaluate c.yaml --verbose 0 --from run.npz") ==
        output(folder, "evaluate c.yaml --verbose 0 --from run"));
  CHECK(complaint(folder, "export run --output w", 2) ==
        "--output w: its name does not say the format; give --format "
        "keras|keras-archive|npz|safetensors");
  CHECK(complaint(folder, "export run --output w.h5", 2) ==
        "--output w.h5: Keras loads only from a name that ends in .weights.h5; name it so");
  CHECK(complaint(folder, "export run --output w --format npy", 2) ==
        "--format: no format 'npy'; nearest: 'npz'");
  CHECK(complaint(folder, "export none --output w.npz", 3).starts_with("none: no such directory"));
  CHECK(complaint(folder, "export run.npz --output w.weights.h5", 2) ==
        "run.npz: Keras's files name no variables; name the model with --config CONFIG");
  CHECK_FALSE(folder.has("w.weights.h5"));
  // Keras's two formats are told apart by the suffix.
  output(folder, "export run --output w.keras --format keras");
  CHECK(folder.read("w.keras").starts_with("PK"));
  CHECK(output(folder, "evaluate c.yaml --verbose 0 --weights w.keras") ==
        output(folder, "evaluate c.yaml --verbose 0 --from run"));
}

TEST_CASE("a damaged file of Keras ends the job with a word") {
  const Fixture folder("branches");
  const std::string bytes = folder.read("theirs.weights.h5");
  folder.write("cut.weights.h5", bytes.substr(0, bytes.size() / 2));
  CHECK(complaint(folder, "predict c.yaml --verbose 0 --from cut.weights.h5", 3) ==
        "cut.weights.h5: not a good HDF5 file; is it cut off? write it again");
}
