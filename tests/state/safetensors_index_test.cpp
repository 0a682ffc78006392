// Shards of safetensors and their index, as Hugging Face has them.
#include <doctest/doctest.h>

#include <cstring>

#include "state/formats/format.h"
#include "support/errors.h"
#include "support/temp_directory.h"

namespace meshwork {
namespace {

constexpr const char* kIndex = "model.safetensors.index.json";

/// Two shards, a and b in the first, c in the second; each element is the number of its tensor.
struct Model : test::TempDirectory {
  Model() {
    write_shard("model-1.safetensors", {{"a", DType::kFloat32, {2}}, {"b", DType::kFloat32, {3}}});
    write_shard("model-2.safetensors", {{"c", DType::kFloat32, {4}}});
    write_index(R"({"metadata": {"total_size": 36}, "weight_map": {"a": "model-1.safetensors",
                    "b": "model-1.safetensors", "c": "model-2.safetensors"}})");
  }
  void write_shard(const std::string& name, const std::vector<GlobalTensor>& tensors) const {
    formats::kSafetensors.write(file(name), {tensors, [&](std::size_t i, std::byte* to) {
                                               const auto value =
                                                   static_cast<float>(tensors[i].path[0] - 'a');
                                               for (int k = 0; k < tensors[i].shape[0]; ++k) {
                                                 std::memcpy(to + 4 * k, &value, 4);
                                               }
                                             }});
  }
  void write_index(const std::string& text) const { test::write_text(file(kIndex), text); }
  std::unique_ptr<TensorFile> open() const { return format_of(file(kIndex)).open(file(kIndex)); }
  /// Without the name of the file.
  std::string error() const {
    const std::string text = test::error_of([&] { open(); });
    const std::string place = "3: " + file(kIndex) + ": ";
    return text.starts_with(place) ? text.substr(place.size()) : "elsewhere: " + text;
  }
};

}  // namespace

TEST_CASE("tensors are read from the shards that have them") {
  const Model model;
  const auto file = model.open();
  REQUIRE(file->tensors().size() == 3);
  for (std::size_t i = 0; i < 3; ++i) {
    std::vector<float> values(1);
    const Shape& shape = file->tensors()[i].shape;
    file->read(file->tensors()[i], {shape, {1}}, {1}, reinterpret_cast<std::byte*>(values.data()));
    CHECK(values[0] == static_cast<float>(i));
  }
}

TEST_CASE("an index that its shards do not bear out is an error that says which file") {
  const Model model;
  model.write_index(R"({"weight_map": {"a": "model-1.safetensors", "b": "model-3.safetensors"}})");
  CHECK(model.error() ==
        "'b' is in the shard 'model-1.safetensors', where the index has it not; "
        "fetch all files of the model again");
  model.write_index(R"({"weight_map": {"a": "model-3.safetensors"}})");
  CHECK(model.error() ==
        "its shard 'model-3.safetensors' is not beside it; fetch all files of the model again");
  model.write_index(R"({"weight_map": {"a": "model-1.safetensors", "b": "model-1.safetensors",
                        "d": "model-2.safetensors"}})");
  CHECK(model.error() ==
        "'d' is not in its shard 'model-2.safetensors'; fetch all files of the model again");
}

TEST_CASE("whatever an index is not, is named") {
  const Model model;
  const std::string none = "not a good index of safetensors: it has no map 'weight_map'";
  for (const char* text : {"{}", R"({"weight_map": []})"}) {
    model.write_index(text);
    CHECK(model.error() == none);
  }
  model.write_index(R"({"weight_map": {"a": "x", "a": "y"}})");
  CHECK(model.error() == "the index has the key 'a' twice");
  model.write_index(R"({"weight_map": )");
  CHECK(model.error() == "the index is not JSON, at byte 16 of it");
  for (const char* shard : {"\"../model-1.safetensors\"", "\".\"", "\"\"", "1", "null"}) {
    CAPTURE(shard);
    model.write_index(std::string(R"({"weight_map": {"a": )") + shard + "}}");
    CHECK(model.error() == std::string("'a': ") + shard + " is no name of a file beside it");
  }
}

TEST_CASE("a shard that is cut off is an error, wherever") {
  const Model model;
  const std::string bytes = test::read_text(model.file("model-2.safetensors"));
  for (std::size_t end = 0; end < bytes.size(); end += 16) {
    test::write_text(model.file("model-2.safetensors"), bytes.substr(0, end));
    CHECK(model.error().starts_with("elsewhere: 3: " + model.file("model-2.safetensors") + ": "));
  }
}

}  // namespace meshwork
