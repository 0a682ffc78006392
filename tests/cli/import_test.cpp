// Models that Keras has saved (scripts/make_import_fixtures.py), as configurations.
#include <fmt/format.h>

#include <vector>

#include "cli/job_folder.h"
#include "cli/keras_files.h"

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
std::string complaint_of(const std::string& layer, const std::string& model = kModel,
                         int exit_code = 2) {
  const JobFolder folder;
  std::string text = model;
  const std::size_t at = text.find("LAYER");
  if (at != std::string::npos) text.replace(at, 5, layer);
  folder.write("m.json", text);
  const Finished run = folder.run("import m.json --output m.yaml");
  CHECK(run.exit_code == exit_code);
  CHECK(run.out == "");
  CHECK(!folder.has("m.yaml"));
  return run.err;
}

}  // namespace

TEST_CASE("an imported model predicts what Keras does") {
  check_predictions("adapted", {"table", "image"}, {""}, 1e-4F);
  check_predictions("attention", {"x"}, {""}, 1e-5F);
  check_predictions("heads", {"image", "size"}, {"digit", "height"}, 1e-5F);
  check_predictions("masked", {"tokens"}, {""}, 1e-5F);
  check_predictions("operations", {"x"}, {""}, 1e-5F);
  check_predictions("residuals", {"image"}, {""}, 1e-5F);
  check_predictions("siamese", {"left", "right"}, {""}, 1e-5F);
  check_predictions("texts", {"tokens"}, {""}, 1e-5F);
  check_predictions("translator", {"source", "target"}, {""}, 1e-5F);
  check_predictions("nested", {"image"}, {""}, 2e-2F);  // of bfloat16
}

TEST_CASE("what a layer has by default is left out, and numbers are as they were given") {
  const Fixture folder("heads");
  CHECK(output(folder, "import model.keras") ==
        R"(# The model of model.keras. Its weights: --from model.keras
model:
  inputs:
    image: [8, 7, 2]
    size: [3]
  outputs: [digit, height]
  layers:
    - Conv2D: {name: conv2d, filters: 4, kernel_size: 3, strides: 2, activation: relu, kernel_regularizer: {L2: {l2: 0.0001}}, inputs: image}
    - BatchNormalization: {name: batch_normalization, momentum: 0.9}
    - LeakyReLU: {name: leaky_re_lu, negative_slope: 0.2}
    - Flatten: {name: features}
    - Concatenate: {name: concatenate, inputs: [features, size]}
    - Rescaling: {name: true_divide, scale: 0.25}
    - Rescaling: {name: subtract, scale: 1, offset: -0.5}
    - Rescaling: {name: multiply, scale: 2}
    - Activation: {name: tanh, activation: tanh}
    - Square: {name: square}
    - GetItem: {name: get_item, key: [":", "1:15"]}
    - Dense: {name: dense, units: 9, activation: {leaky_relu: {negative_slope: 0.1}}, kernel_initializer: HeNormal}
    - Dense: {name: digit, units: 5}
    - Dense: {name: height, units: 1, use_bias: false, inputs: dense}
compile:
  optimizer: {Adam: {learning_rate: {ExponentialDecay: {initial_learning_rate: 0.001, decay_steps: 100, decay_rate: 0.9, staircase: false}}, clipnorm: 1, beta_1: 0.9, beta_2: 0.999, epsilon: 1e-07, amsgrad: false}}
  loss: {digit: {SparseCategoricalCrossentropy: {from_logits: true}}, height: mse}
  metrics: {digit: [accuracy]}
)");
}

TEST_CASE("metrics are called as Keras calls them, and left out alone where there are no words") {
  const Fixture folder("operations");
  const std::string text = output(folder, "import model.keras");
  CHECK(
      text.find("metrics: [{BinaryAccuracy: {name: acc, threshold: 0.4}}, {FalseNegatives: {name: "
                "fn}}, {AUC: {num_thresholds: 200") != std::string::npos);
  CHECK(text.find("{AUC: {name: prc, ") != std::string::npos);
  CHECK(text.find("{Precision: {}}, {R2Score: ") != std::string::npos);

  const std::string compile =
      R"(, "compile_config": {"optimizer": "adam", "loss": "mse", "metrics": [
    "mae", {"class_name": "BinaryAccuracy", "config": {"name": "a"}},
    {"class_name": "AUC", "config": {"name": "a"}}]}})";
  std::string model = kModel;
  model.replace(model.find("LAYER"), 5, R"({"module": "keras.layers", "class_name": "Dense",
    "config": {"name": "d", "units": 1}})");
  model.replace(model.rfind('}'), 1, compile);
  folder.write("m.json", model);
  const Finished imported = folder.run("import m.json");
  CHECK(imported.err ==
        "meshwork: note: the metrics of the model are left out: m.json:9:48: metric AUC: 'a' is "
        "logged for what stands at m.json:9:19 already; give it another 'name'\n");
  CHECK(imported.out.ends_with("compile:\n  optimizer: adam\n  loss: mse\n"));
}

TEST_CASE("models within models become blocks, and calls of one layer uses of it") {
  CHECK(output(Fixture("siamese"), "import model.keras") ==
        R"(# The model of model.keras. Its weights: --from model.keras
blocks:
  tower:
    layers:
      - Dense: {name: dense, units: 8, activation: relu}
      - Dense: {name: dense_1, units: 4}
model:
  inputs:
    left: [12]
    right: [12]
  layers:
    - tower: {name: tower, inputs: left}
    - use: {layer: tower, name: tower_use_2, inputs: right}
    - Subtract: {name: subtract, inputs: [tower, tower_use_2]}
    - Square: {name: square}
    - Sum: {name: sum, axis: -1, keepdims: true}
    - Clip: {name: maximum, x_min: 1e-07}
    - Sqrt: {name: sqrt}
    - Dense: {name: same, units: 1, activation: sigmoid}
)");
  const std::string attention = output(Fixture("attention"), "import model.keras");
  CHECK(attention.find("trainable: false, use_causal_mask: true, inputs: [x, x]}\n") !=
        std::string::npos);
  CHECK(attention.find("    - use: {layer: dense, name: dense_use_2}\n") != std::string::npos);
  const std::string translator = output(Fixture("translator"), "import model.keras");
  CHECK(translator.find("inputs: {sequences: embedding_1, initial_state: [encoder/state_h, "
                        "encoder/state_c]}}\n") != std::string::npos);
  const std::string nested = output(Fixture("nested"), "import model.keras");
  CHECK(nested.find("\nprecision: mixed_bfloat16\n") != std::string::npos);
  CHECK(nested.find("Dense: {name: logits, units: 4, dtype: float32}\n") != std::string::npos);
}

TEST_CASE("what has no words here is an error that names the layer") {
  const auto layer = [](const char* module, const char* name, const char* arguments,
                        const char* registered) {
    return fmt::format(
        R"({{"module": "{}", "class_name": "{}", "config": {}, "registered_name": {}}})", module,
        name, arguments, registered);
  };
  const auto of_keras = [&](const char* name, const char* arguments) {
    return complaint_of(layer("keras.layers", name, arguments, "null"));
  };
  CHECK(of_keras("StackedRNNCells", R"({"name": "c"})") ==
        "meshwork: m.json: layer 'c' (StackedRNNCells): there is no layer StackedRNNCells of "
        "keras.layers here\n");
  CHECK(of_keras("Hashing", R"({"name": "c"})") ==
        "meshwork: m.json: layer 'c' (Hashing): layer Hashing prepares data, which a model here "
        "does not; store what it would give, as numbers\n");
  CHECK(of_keras("Dense", R"({"name": "d", "units": 0})") ==
        "meshwork: m.json: layer 'd' (Dense): units is 0; give 1 or more\n");
  CHECK(complaint_of(layer("mine", "Mine", R"({"name": "m"})", "\"mine>Mine\"")) ==
        "meshwork: m.json: layer 'm' (Mine): 'Mine' is a class of your own ('mine'), which holds "
        "code that is not in the file\n");
}

TEST_CASE("what is no model of Keras is an error") {
  CHECK(complaint_of("", "{}", 3) ==
        "meshwork: m.json: it describes no Sequential or Functional model, which alone hold their "
        "layers\n");
  CHECK(complaint_of("", "\x89HDF\r\n", 3) ==
        "meshwork: m.json: an HDF5 file, of which --from reads the weights; the layers are read of "
        "what Keras 3 saves: load_model(..).save('name.keras')\n");
  CHECK(complaint_of("", "[", 3) ==
        "meshwork: m.json: the description of the model is not JSON, at byte 2 of it\n");
  CHECK(complaint_of("3", kModel, 3)
            .starts_with("meshwork: m.json: it is not written as Keras 3 writes models ("));
  CHECK(complaint_of("", R"({"class_name": "Sequential", "config": {"layers": []}})") ==
        "meshwork: m.json: the model has not been built, so nobody knows the shape of its samples; "
        "begin it with keras.Input((28, 28)), and save it again\n");
  const std::string functional = R"({"class_name": "Functional", "config": {"layers": [],
      "input_layers": [["a", 0, 0]], "output_layers": [["b", 0, 0]]}})";
  CHECK(complaint_of("", functional) == "meshwork: m.json: no layer is its input 'a'\n");
  const std::string open = R"({"class_name": "Sequential", "config": {"layers": [
      {"class_name": "InputLayer",
       "config": {"name": "x", "batch_shape": [null, null, 3], "dtype": "float32"}}]}})";
  CHECK(complaint_of("", open) ==
        "meshwork: m.json: input 'x' has the shape [null,null,3]: all samples have one shape here; "
        "build the model for one, keras.Input((224, 224, 3)), and save it again\n");
}
