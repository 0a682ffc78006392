// Models that Keras has saved (scripts/make_import_fixtures.py), as configurations.
#include <cmath>
#include <cstring>
#include <vector>

#include "cli/job_folder.h"
#include "cli/unpacked.h"

using namespace meshwork::cli;

namespace {

namespace fs = std::filesystem;

const fs::path kFixtures = "tests/fixtures/import";

/// model.keras, the arrays of its inputs, and what Keras predicts of them.
struct Fixture : JobFolder {
  explicit Fixture(const std::string& name) {
    for (const auto& entry : fs::directory_iterator(kFixtures / name)) {
      const std::string file = entry.path().filename().string();
      if (file.ends_with(".npy")) write(file, read_all(entry.path()));
    }
    write("model.keras", unpacked(kFixtures / name / "model.keras.gz"));
  }
};

/// The floats behind the header.
std::vector<float> floats(const std::string& npy) {
  const std::size_t begin = npy.find('\n') + 1;
  REQUIRE(begin <= npy.size());
  std::vector<float> values((npy.size() - begin) / sizeof(float));
  std::memcpy(values.data(), npy.data() + begin, values.size() * sizeof(float));
  return values;
}

void check_near(const std::vector<float>& values, const std::vector<float>& expected, float far) {
  REQUIRE(values.size() == expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    CHECK(std::abs(values[i] - expected[i]) <= far * (1 + std::abs(expected[i])));
  }
}

/// The imported model on a mesh, with these fields of data.
void write_config(const Fixture& folder, const std::string& mesh,
                  const std::vector<std::string>& inputs) {
  std::string fields;
  for (const std::string& input : inputs) fields += input + ": " + input + ".npy, ";
  folder.write("c.yaml", folder.read("theirs.yaml") + "mesh: " + mesh +
                             "\ndataset:\n  name: arrays\n  format: npy\n  splits:\n    test: {" +
                             fields + "}\n");
}

void check_predictions(const std::string& name, const std::vector<std::string>& inputs,
                       const std::vector<std::string>& outputs, float far) {
  CAPTURE(name);
  const Fixture folder(name);
  CHECK(output(folder, "import model.keras --output theirs.yaml") == "wrote theirs.yaml\n");
  CHECK(output(folder, "import model.keras") == folder.read("theirs.yaml"));
  for (const char* mesh : {"{data: 1}", "{data: 3, model: 2}"}) {
    CAPTURE(mesh);
    write_config(folder, mesh, inputs);
    output(folder, "predict c.yaml --verbose 0 --output p.npy --from model.keras");
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      const std::string file = outputs[i].empty() ? "p.npy" : "p_" + outputs[i] + ".npy";
      const std::string expected = "expected_" + std::to_string(i) + ".npy";
      check_near(floats(folder.read(file)), floats(folder.read(expected)), far);
    }
  }
}

const char* const kModel = R"({"module": "keras", "class_name": "Sequential", "config":
  {"name": "s", "layers": [
    {"module": "keras.layers", "class_name": "InputLayer",
     "config": {"batch_shape": [null, 6], "dtype": "float32", "name": "x"}, "registered_name": null},
    LAYER]}})";

/// The complaint about a Sequential of this layer.
std::string complaint_of(const std::string& layer, const std::string& model = kModel) {
  const JobFolder folder;
  std::string text = model;
  const std::size_t at = text.find("LAYER");
  if (at != std::string::npos) text.replace(at, 5, layer);
  folder.write("m.json", text);
  return complaint(folder, "import m.json --output m.yaml", folder.has("m.yaml") ? 0 : 2);
}

}  // namespace

TEST_CASE("an imported model predicts what Keras does") {
  check_predictions("attention", {"x"}, {""}, 1e-5F);
  check_predictions("heads", {"image", "size"}, {"digit", "height"}, 1e-5F);
  check_predictions("siamese", {"left", "right"}, {""}, 1e-5F);
  check_predictions("texts", {"tokens"}, {""}, 1e-5F);
  check_predictions("nested", {"image"}, {""}, 2e-2F);  // of bfloat16
}

TEST_CASE(
    "arguments that a layer has by default are left out, and numbers are as they were given") {
  const Fixture folder("heads");
  CHECK(output(folder, "import model.keras") == "");
}

TEST_CASE("models within models become blocks, and calls of one layer uses of it") {
  CHECK(output(Fixture("siamese"), "import model.keras") == "");
  CHECK(output(Fixture("nested"), "import model.keras") == "");
}

TEST_CASE("what has no words here is an error that names the layer") {
  CHECK(complaint_of(R"({"module": "keras.layers", "class_name": "ConvLSTM2D",
    "config": {"name": "c", "filters": 3}, "registered_name": null})") == "");
  CHECK(complaint_of(R"({"module": "keras.layers", "class_name": "Dense",
    "config": {"name": "d", "units": 0}, "registered_name": null})") == "");
  CHECK(complaint_of(R"({"module": null, "class_name": "Mine",
    "config": {"name": "m"}, "registered_name": "mine>Mine"})") == "");
  CHECK(complaint_of("3") == "");
  CHECK(complaint_of("", "{}") == "");
  CHECK(complaint_of("", "[") == "");
  CHECK(complaint_of(
            "", R"({"class_name": "Sequential", "config": {"name": "s", "layers": []}})") == "");
}
