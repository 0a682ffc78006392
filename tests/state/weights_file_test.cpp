#include "state/weights_file.h"

#include <doctest/doctest.h>

#include <cstring>

#include "support/errors.h"
#include "support/temp_directory.h"

namespace meshwork {
namespace {

const std::vector<GlobalTensor> kWeights{{"a/kernel", DType::kFloat32, {2, 3}},
                                         {"a/bias", DType::kFloat32, {3}},
                                         {"stage/b/kernel", DType::kFloat32, {3, 2}}};
const std::vector<GlobalTensor> kSlots{{"sgd/a_kernel_momentum", DType::kFloat32, {2, 3}},
                                       {"sgd/a_bias_momentum", DType::kFloat32, {3}},
                                       {"sgd/stage_b_kernel_momentum", DType::kFloat32, {3, 2}}};

KerasModel model() {
  KerasModel model;
  const KerasLayer b{"dense", "b", "stage/b", {"stage/b/kernel"}, {}};
  model.model.layers = {{"dense", "a", "a", {"a/kernel", "a/bias"}, {}},
                        {"sequential", "stage", "stage", {}, {b}}};
  model.optimizer = "sgd";
  model.has_learning_rate = true;
  for (const GlobalTensor& slot : kSlots) model.slots.push_back(slot.path);
  return model;
}

std::vector<KerasModel> models() {
  KerasModel flat = model();
  flat.model.layers = {model().model.layers[0], model().model.layers[1].layers[0]};
  return {model(), flat};
}

/// Each float is the number of its tensor in the list.
void write_file(const std::string& file, const std::vector<GlobalTensor>& tensors,
                const std::map<std::string, std::string>& names = {}) {
  const auto read = [&](std::size_t i, std::byte* to) {
    const std::vector<float> values(static_cast<std::size_t>(num_elements(tensors[i].shape)),
                                    static_cast<float>(i));
    if (tensors[i].dtype == DType::kFloat32) {
      std::memcpy(to, values.data(), values.size() * sizeof(float));
    } else {
      const std::int64_t steps = 5;  // its first half is an int32
      std::memcpy(to, &steps, size_of(tensors[i].dtype));
    }
  };
  format_by_suffix(file)->write(file, {tensors, read, names});
}

/// What stands in the file for a tensor of the model.
float first_of(const WeightsFile& file, const GlobalTensor& tensor) {
  std::vector<float> values(static_cast<std::size_t>(num_elements(tensor.shape)));
  file.read(tensor, whole_region(tensor.shape), tensor.shape,
            reinterpret_cast<std::byte*>(values.data()));
  return values[0];
}

std::string error_of(const std::string& file) {
  return test::error_of([&] { WeightsFile(file, kWeights, models); });
}

GlobalTensor renamed(GlobalTensor tensor, const std::string& path) {
  tensor.path = path;
  return tensor;
}

TEST_CASE("variables that may keep their values need not be there, or of their shape") {
  const test::TempDirectory directory;
  const auto may_keep = [](const std::string& path) { return path.starts_with("a/"); };
  const GlobalTensor other_shape{"a/kernel", DType::kFloat32, {2, 7}};
  for (const char* suffix : {".safetensors", ".npz"}) {
    for (const std::string prefix : {"", "net/"}) {
      const std::string file = directory.file(std::string("w") + suffix);
      // a/bias is missing, and a/gamma is of nobody.
      write_file(file, {renamed(other_shape, prefix + "a/kernel"),
                        renamed(kWeights[2], prefix + "stage/b/kernel"),
                        renamed(kWeights[1], prefix + "a/gamma")});
      const WeightsFile weights(file, kWeights, models, may_keep);
      CHECK(!weights.has(kWeights[0]));
      CHECK(!weights.has(kWeights[1]));
      CHECK(first_of(weights, kWeights[2]) == 1.0F);
      CHECK(test::contains(error_of(file), "3 tensors do not fit"));
    }
  }
  const std::string file = directory.file("w.safetensors");
  write_file(file, {kWeights[0], kWeights[1], {"stage/b/kernel", DType::kFloat32, {9, 9}}});
  CHECK(
      test::contains(test::error_of([&] { WeightsFile(file, kWeights, models, may_keep); }),
                     "'stage/b/kernel' is float32[9, 9] in the file, float32[3, 2] in the model"));
  write_file(file, kWeights);
  CHECK(WeightsFile(file, kWeights, models, may_keep).has(kWeights[0]));
}

TEST_CASE("layers of Keras's files may be of another shape where variables keep their values") {
  const test::TempDirectory directory;
  const std::string file = directory.file("w.weights.h5");
  const std::string a = "layers/dense/vars/", b = "layers/sequential/layers/dense/vars/0";
  const GlobalTensor other_shape{b, DType::kFloat32, {3, 5}};
  write_file(file, {renamed(kWeights[0], a + "0"), renamed(kWeights[1], a + "1"), other_shape});
  CHECK(test::contains(error_of(file), "is float32[3, 5] in the file, float32[3, 2] in the model"));
  const WeightsFile weights(file, kWeights, models,
                            [](const std::string& path) { return path == "stage/b/kernel"; });
  CHECK(!weights.has(kWeights[2]));
  CHECK(first_of(weights, kWeights[1]) == 1.0F);
}

TEST_CASE("a model's name before all paths is left out") {
  const test::TempDirectory directory;
  for (const char* suffix : {".safetensors", ".npz"}) {
    const std::string file = directory.file(std::string("w") + suffix);
    write_file(file, {renamed(kWeights[0], "sequential/a/kernel"),
                      renamed(kWeights[1], "sequential/a/bias"),
                      renamed(kWeights[2], "sequential/stage/b/kernel")});
    const WeightsFile weights(file, kWeights, models);
    CHECK(first_of(weights, kWeights[2]) == 2.0F);
    write_file(file, {renamed(kWeights[0], "net/a/kernel"), renamed(kWeights[1], "net/a/bias")});
    CHECK(error_of(file) ==
          "3: " + file +
              ": no tensor 'net/stage/b/kernel', 'stage/b/kernel', float32[3, 2], in the model; " +
              test::kMisfitWayOut);
  }
}

TEST_CASE("Keras's places are found by the order of classes") {
  const test::TempDirectory directory;
  const std::string file = directory.file("w.weights.h5");
  const std::string a = "layers/dense/vars/", b = "layers/sequential/layers/dense/vars/0";
  write_file(file, {renamed(kWeights[0], a + "0"), renamed(kWeights[1], a + "1"),
                    renamed(kWeights[2], b)});
  CHECK(first_of(WeightsFile(file, kWeights, models), kWeights[2]) == 2.0F);
  // A model without models in it.
  write_file(file, {renamed(kWeights[0], a + "0"), renamed(kWeights[1], a + "1"),
                    renamed(kWeights[2], "layers/dense_1/vars/0")});
  CHECK(first_of(WeightsFile(file, kWeights, models), kWeights[2]) == 2.0F);
}

TEST_CASE("names of layers count for more than their order") {
  const test::TempDirectory directory;
  const std::string file = directory.file("w.weights.h5");
  const std::vector<GlobalTensor> tensors{renamed(kWeights[2], "layers/dense/vars/0"),
                                          renamed(kWeights[0], "layers/dense_1/vars/0"),
                                          renamed(kWeights[1], "layers/dense_1/vars/1")};
  write_file(file, tensors, {{"layers/dense", "stage_b"}, {"layers/dense_1", "a"}});
  const WeightsFile weights(file, kWeights, models);
  CHECK(first_of(weights, kWeights[0]) == 1.0F);
  CHECK(first_of(weights, kWeights[2]) == 0.0F);
  write_file(file, tensors, {{"layers/dense", "dense_7"}, {"layers/dense_1", "dense_8"}});
  CHECK(error_of(file).starts_with("3: " + file + ": 4 tensors do not fit:\n"));
}

/// A dense layer of one kernel.
KerasLayer dense(const std::string& path) {
  return {"dense", path.substr(path.rfind('/') + 1), path, {path + "/kernel"}, {}};
}

GlobalTensor kernel_of(const std::string& path, const Shape& shape = {2, 2}) {
  return {path + "/kernel", DType::kFloat32, shape};
}

/// Opens a file of dense layers of these names and shapes, each value of which is its number, for a
/// model of dense layers.
struct DenseFile {
  std::vector<std::pair<std::string, Shape>> stored;
  std::vector<GlobalTensor> wanted;

  WeightsFile open(const std::string& file, const MayKeep& may_keep = {}) const {
    std::vector<GlobalTensor> tensors;
    std::map<std::string, std::string> names;
    for (std::size_t i = 0; i < stored.size(); ++i) {
      const std::string group = i == 0 ? "layers/dense" : "layers/dense_" + std::to_string(i);
      tensors.push_back({group + "/vars/0", DType::kFloat32, stored[i].second});
      names[group] = stored[i].first;
    }
    write_file(file, tensors, names);
    return {file, wanted,
            [this] {
              KerasModel model, flat;
              std::map<std::string, KerasLayer> blocks;
              for (const GlobalTensor& tensor : wanted) {
                const std::string path = tensor.path.substr(0, tensor.path.rfind('/'));
                flat.model.layers.push_back(dense(path));
                const std::size_t slash = path.find('/');
                if (slash == std::string::npos) {
                  model.model.layers.push_back(dense(path));
                } else {
                  const std::string block = path.substr(0, slash);
                  model.model.layers.push_back({"sequential", block, block, {}, {dense(path)}});
                }
              }
              return std::vector<KerasModel>{model, flat};
            },
            may_keep};
  }
};

MayKeep keeps(const std::string& prefix) {
  return [prefix](const std::string& path) { return path.starts_with(prefix); };
}

TEST_CASE("a layer that a file lacks does not undo the names of the others") {
  const test::TempDirectory directory;
  const std::string file = directory.file("w.weights.h5");
  const GlobalTensor a = kernel_of("a"), b = kernel_of("b"), head = kernel_of("head", {2, 5});
  const DenseFile swapped{{{"b", {2, 2}}, {"a", {2, 2}}}, {a, b, head}};
  for (const char* prefix : {"head/", ""}) {
    const WeightsFile weights = swapped.open(file, keeps(prefix));
    CHECK(first_of(weights, a) == 1.0F);
    CHECK(first_of(weights, b) == 0.0F);
    CHECK(!weights.has(head));
    CHECK(weights.note().empty());
  }
  // Its place in the order is another's; one that is nobody's does, with a note.
  const GlobalTensor c = kernel_of("c");
  CHECK(!DenseFile{{{"a", {2, 2}}, {"b", {2, 2}}}, {c, a, b}}.open(file, keeps("c/")).has(c));
  const DenseFile third{{{"b", {2, 2}}, {"a", {2, 2}}, {"x", {2, 2}}}, {a, b, c}};
  const WeightsFile weights = third.open(file, keeps("c/"));
  CHECK(first_of(weights, a) == 1.0F);
  CHECK(first_of(weights, c) == 2.0F);
  CHECK(weights.note() ==
        file +
            ": reads weights by the order of layers where names differ: 'c' takes those of 'x'; "
            "give layers the names of the file to be sure");
  CHECK(third.open(file).note() == weights.note());
}

TEST_CASE("names that somebody has chosen are no other layer's, though some names are missing") {
  const test::TempDirectory directory;
  const std::string file = directory.file("w.weights.h5");
  const GlobalTensor a = kernel_of("a"), b = kernel_of("b"), d = kernel_of("d");
  const DenseFile last{{{"b", {2, 2}}, {"a", {2, 2}}, {"dense_7", {2, 2}}}, {a, b, d}};
  CHECK(first_of(last.open(file), a) == 1.0F);
  CHECK(first_of(last.open(file), b) == 0.0F);
  CHECK(first_of(last.open(file), d) == 2.0F);
  const DenseFile between{{{"b", {2, 2}}, {"dense_7", {2, 2}}, {"a", {2, 2}}}, {a, b, d}};
  CHECK(test::contains(test::error_of([&] { between.open(file); }), "no tensor 'd/kernel'"));
  // Names that Keras counts say nothing: these are the layers that it has made first and second.
  const GlobalTensor one = kernel_of("dense"), two = kernel_of("dense_1");
  const DenseFile counted{{{"dense_1", {2, 2}}, {"dense_2", {2, 2}}}, {one, two}};
  for (const MayKeep& may_keep : {MayKeep{}, keeps("dense")}) {
    CHECK(first_of(counted.open(file, may_keep), one) == 0.0F);
    CHECK(first_of(counted.open(file, may_keep), two) == 1.0F);
    CHECK(counted.open(file, may_keep).note().empty());
  }
}

TEST_CASE("a model with blocks takes what a file without them has") {
  const test::TempDirectory directory;
  const std::string file = directory.file("w.weights.h5");
  const GlobalTensor a = kernel_of("s/a"), d = kernel_of("d"), head = kernel_of("head", {2, 5});
  const std::pair<std::string, Shape> s_a{"s_a", {2, 2}}, other{"dense", {2, 2}};
  for (const char* prefix : {"head/", ""}) {
    const DenseFile base{{s_a, other}, {a, d, head}};
    const WeightsFile weights = base.open(file, keeps(prefix));
    CHECK(first_of(weights, a) == 0.0F);
    CHECK(first_of(weights, d) == 1.0F);
    CHECK(!weights.has(head));
    CHECK(test::contains(test::error_of([&] { base.open(file); }),
                         ": no tensor 'layers/dense_2/vars/0', 'head/kernel', float32[2, 5], in"));
  }
  // A layer of the file that the model lacks is known by its name.
  const DenseFile more{{s_a, other, {"top", {2, 9}}, {"last", {9, 9}}}, {a, d}};
  CHECK(first_of(more.open(file, keeps("")), d) == 1.0F);
  CHECK(
      test::contains(test::error_of([&] { more.open(file, keeps("top/")); }),
                     ": 'layers/dense_3/vars/0', float32[9, 9] in the file, is not in the model"));
}

TEST_CASE("what does not fit is said with both names and both shapes") {
  const test::TempDirectory directory;
  const std::string file = directory.file("w.weights.h5");
  const std::string a = "layers/dense/vars/", b = "layers/sequential/layers/dense/vars/0";
  write_file(
      file,
      {renamed(kWeights[0], a + "0"), {a + "1", DType::kFloat32, {4}}, renamed(kWeights[2], b)});
  CHECK(error_of(file) == "3: " + file +
                              ": 'a/bias', in the file 'layers/dense/vars/1', is float32[4] in the "
                              "file, float32[3] in the model; " +
                              test::kMisfitWayOut);
  write_file(file, {renamed(kWeights[0], a + "0"), renamed(kWeights[1], a + "1")});
  CHECK(error_of(file).starts_with("3: " + file + ": no tensor '" + b +
                                   "', 'stage/b/kernel', float32[3, 2], in the model"));
  write_file(file, {renamed(kWeights[0], "x/vars/0")});
  CHECK(test::contains(error_of(file), "has no weights of layers as Keras 3 stores them; save"));
}

TEST_CASE("the optimizer's state comes with its steps, or is refused by numbers") {
  const test::TempDirectory directory;
  const std::string file = directory.file("w.weights.h5");
  std::vector<GlobalTensor> tensors{renamed(kWeights[0], "layers/dense/vars/0"),
                                    renamed(kWeights[1], "layers/dense/vars/1"),
                                    renamed(kWeights[2], "layers/sequential/layers/dense/vars/0"),
                                    {"optimizer/vars/0", DType::kInt32, {}},
                                    {"optimizer/vars/1", DType::kFloat32, {}}};
  write_file(file, tensors);
  CHECK_FALSE(WeightsFile(file, kWeights, models).find_slots(kSlots));
  for (std::size_t i = 0; i < 3; ++i) {
    tensors.push_back(renamed(kSlots[i], keras_optimizer_place(i + 2)));
  }
  write_file(file, tensors);
  WeightsFile weights(file, kWeights, models);
  REQUIRE(weights.find_slots(kSlots));
  CHECK(weights.iteration() == 5);
  CHECK(first_of(weights, kSlots[2]) == 7.0F);
  tensors.push_back({keras_optimizer_place(5), DType::kFloat32, {3}});
  write_file(file, tensors);
  WeightsFile other(file, kWeights, models);
  CHECK(test::error_of([&] { other.find_slots(kSlots); }) ==
        "3: " + file +
            ": its optimizer has 6 variables, sgd of the configuration 5; take the weights alone "
            "with --weights-only, or configure the optimizer of the file");
}

TEST_CASE("what scales losses counts in int32 or int64") {
  const test::TempDirectory directory;
  const std::string file = directory.file("w.weights.h5");
  const auto scaled = [] {
    KerasModel scaled = model();
    scaled.scaled_by = "loss_scale_optimizer";
    scaled.counters = {"s/step_counter", "s/dynamic_scale", "sgd/iteration"};
    return std::vector<KerasModel>{scaled};
  };
  std::vector<GlobalTensor> slots{{"s/step_counter", DType::kInt32, {}},
                                  {"s/dynamic_scale", DType::kFloat32, {}},
                                  {"sgd/iteration", DType::kInt32, {}}};
  slots.insert(slots.end(), kSlots.begin(), kSlots.end());
  for (const DType count : {DType::kInt32, DType::kInt64}) {
    std::vector<GlobalTensor> tensors{
        renamed(kWeights[0], "layers/dense/vars/0"), renamed(kWeights[1], "layers/dense/vars/1"),
        renamed(kWeights[2], "layers/sequential/layers/dense/vars/0")};
    const auto add = [&](DType dtype, const Shape& shape) {
      tensors.push_back({keras_optimizer_place(tensors.size() - 3), dtype, shape});
    };
    for (const DType dtype : {count, DType::kFloat32, count, DType::kFloat32, count})
      add(dtype, {});
    add(DType::kFloat32, {});  // the learning rate
    for (const GlobalTensor& slot : kSlots) add(slot.dtype, slot.shape);
    write_file(file, tensors);
    WeightsFile weights(file, kWeights, scaled);
    REQUIRE(weights.find_slots(slots));
    CHECK(weights.iteration() == 5);
    for (const std::size_t i : {0, 2}) {
      std::int32_t found = 0;
      weights.read(slots[i], whole_region({}), {}, reinterpret_cast<std::byte*>(&found));
      CHECK(found == 5);
    }
    CHECK(first_of(weights, slots[1]) == 6.0F);
    CHECK(first_of(weights, kSlots[0]) == 9.0F);
    tensors[5] = {keras_optimizer_place(2), DType::kFloat32, {}};
    write_file(file, tensors);
    WeightsFile other(file, kWeights, scaled);
    CHECK(test::contains(test::error_of([&] { other.find_slots(slots); }), "'s/step_counter'"));
  }
}

}  // namespace
}  // namespace meshwork
