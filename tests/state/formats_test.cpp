#include "state/formats/format.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <numeric>

#include "data/formats/zip_archive.h"
#include "state/shards.h"
#include "support/errors.h"
#include "support/temp_directory.h"

namespace meshwork {
namespace {

const std::vector<GlobalTensor> kTensors{{"layers/dense/vars/0", DType::kFloat32, {7, 6}},
                                         {"layers/dense/vars/1", DType::kFloat32, {6}},
                                         {"layers/empty/vars/0", DType::kFloat32, {0, 4}},
                                         {"optimizer/vars/0", DType::kInt32, {}},
                                         {"steps", DType::kInt64, {2}}};

/// Element i of a tensor is i, and a half where it can be.
template <class T>
std::vector<T> values_of(const GlobalTensor& tensor) {
  std::vector<T> values(static_cast<std::size_t>(num_elements(tensor.shape)));
  std::iota(values.begin(), values.end(), static_cast<T>(0.5));
  return values;
}

template <class T>
void copy_values(const GlobalTensor& tensor, std::byte* to) {
  const std::vector<T> values = values_of<T>(tensor);
  if (!values.empty()) std::memcpy(to, values.data(), values.size() * sizeof(T));
}

void read_made_up(std::size_t i, std::byte* to) {
  const GlobalTensor& tensor = kTensors[i];
  if (tensor.dtype == DType::kFloat32) copy_values<float>(tensor, to);
  if (tensor.dtype == DType::kInt32) copy_values<std::int32_t>(tensor, to);
  if (tensor.dtype == DType::kInt64) copy_values<std::int64_t>(tensor, to);
}

std::vector<const Format*> written_formats() {
  std::vector<const Format*> formats = weight_formats();
  std::erase_if(formats, [](const Format* format) { return format->write == nullptr; });
  return formats;
}

void write_file(const Format& format, const std::string& file) {
  format.write(file, {kTensors, read_made_up, {{"", "net"}, {"layers/dense", "logits"}}, "{}"});
}

/// Opens a file and reads all that it says it has.
void read_everything(const std::string& file) {
  const std::unique_ptr<TensorFile> opened = format_of(file).open(file);
  for (const StoredTensor& tensor : opened->tensors()) {
    const std::optional<DType> dtype = dtype_of(tensor);
    if (!dtype || num_elements(tensor.shape) > 1000) continue;
    std::vector<std::byte> data(
        static_cast<std::size_t>(num_elements(tensor.shape)) * size_of(*dtype) + 1);
    opened->read(tensor, whole_region(tensor.shape), tensor.shape, data.data());
  }
}

TEST_CASE("every format gives back what it was given, whole and in parts") {
  const test::TempDirectory directory;
  REQUIRE(written_formats().size() >= 4);
  for (const Format* format : written_formats()) {
    CAPTURE(format->name);
    const std::string file = directory.file("w" + std::string(format->suffixes.front()));
    write_file(*format, file);
    CHECK(&format_of(file) == format);
    const std::unique_ptr<TensorFile> opened = format->open(file);
    REQUIRE(opened->tensors().size() == kTensors.size());
    for (std::size_t i = 0; i < kTensors.size(); ++i) {
      CHECK(opened->tensors()[i].path == kTensors[i].path);
      CHECK(opened->tensors()[i].shape == kTensors[i].shape);
      CHECK(dtype_of(opened->tensors()[i]) == kTensors[i].dtype);
    }
    for (std::int64_t part = 0; part < 6; ++part) {
      const test::Shard shard = test::shard_of({7, 6}, {3, 2}, part);
      std::vector<float> values(static_cast<std::size_t>(num_elements(shard.shape)));
      opened->read(opened->tensors()[0], shard.region, shard.shape,
                   reinterpret_cast<std::byte*>(values.data()));
      CHECK(values == test::cut(values_of<float>(kTensors[0]), shard));
    }
    std::int32_t number = -1;
    opened->read(opened->tensors()[3], whole_region({}), {}, reinterpret_cast<std::byte*>(&number));
    CHECK(number == 0);
    const bool has_names = format->naming == Naming::kKeras;
    CHECK(opened->names().contains("layers/dense") == has_names);
    if (has_names) CHECK(opened->names().at("layers/dense") == "logits");
  }
}

TEST_CASE("a file that is cut off is an error, wherever") {
  const test::TempDirectory directory;
  for (const Format* format : written_formats()) {
    const std::string suffix(format->suffixes.front());
    const std::string file = directory.file("w" + suffix), cut = directory.file("cut" + suffix);
    write_file(*format, file);
    const std::string bytes = test::read_text(file);
    for (std::size_t end = 0; end < bytes.size(); end += 64) {
      CAPTURE(cut);
      CAPTURE(end);
      test::write_text(cut, bytes.substr(0, end));
      CHECK(test::error_of([&] { read_everything(cut); }).starts_with("3: " + cut + ": "));
    }
  }
}

TEST_CASE("flipped bytes are read as they are or are an error, and nothing else") {
  const test::TempDirectory directory;
  for (const Format* format : written_formats()) {
    const std::string suffix(format->suffixes.front());
    const std::string file = directory.file("w" + suffix);
    const std::string bad = directory.file("bad" + suffix);
    write_file(*format, file);
    const std::string bytes = test::read_text(file);
    std::size_t errors = 0;
    for (std::size_t at = 0; at < bytes.size(); at += 5) {
      for (const unsigned flip : {1U, 0x80U, 0xffU}) {
        std::string damaged = bytes;
        damaged[at] = static_cast<char>(static_cast<unsigned char>(bytes[at]) ^ flip);
        test::write_text(bad, damaged);
        const std::string error = test::error_of([&] { read_everything(bad); });
        CAPTURE(bad);
        CAPTURE(at);
        CHECK((error.empty() || error.starts_with("3: " + bad + ": ")));
        errors += error.empty() ? 0U : 1U;
      }
    }
    CHECK(errors > 0);
  }
}

TEST_CASE("writing that fails leaves the old file, and nothing beside it") {
  const test::TempDirectory directory;
  for (const Format* format : written_formats()) {
    CAPTURE(format->name);
    const std::string file = directory.file("w" + std::string(format->suffixes.front()));
    write_file(*format, file);
    const std::string old = test::read_text(file);
    const auto read = [](std::size_t i, std::byte* to) {
      if (i == 3) throw Error(ExitCode::kFile, "no more");
      read_made_up(i, to);
    };
    CHECK(test::error_of([&] { format->write(file, {kTensors, read}); }) == "3: no more");
    CHECK(test::read_text(file) == old);
    CHECK_FALSE(directory.has_partial_files());
    CHECK(
        test::error_of([&] { write_file(*format, directory.file("none/w")); }).starts_with("3: "));
  }
}

TEST_CASE("of a .keras archive the weights are read") {
  const test::TempDirectory directory;
  const std::string weights = directory.file("model.weights.h5"), file = directory.file("m.keras");
  write_file(*find_format("keras"), weights);
  const auto text = [](const std::string& bytes) { return [bytes] { return bytes; }; };
  data::write_zip(
      file, {{"config.json", text("{}")}, {"model.weights.h5", text(test::read_text(weights))}});
  const Format& format = format_of(file);
  CHECK(format.name == "keras-archive");
  CHECK(format.open(file)->names().at("layers/dense") == "logits");
  read_everything(file);
  const std::string bytes = test::read_text(file);
  for (std::size_t end = 0; end < bytes.size(); end += 64) {
    test::write_text(file, bytes.substr(0, end));
    CAPTURE(end);
    CHECK(test::error_of([&] { read_everything(file); }).starts_with("3: " + file + ": "));
  }
  data::write_zip(file, {{"config.json", text("{}")}});
  CHECK(test::error_of([&] { read_everything(file); }) ==
        "3: " + file + ": has no model.weights.h5; save it again: model.save('name.keras')");
}

TEST_CASE("the same tensors give the same bytes") {
  const test::TempDirectory directory;
  for (const Format* format : written_formats()) {
    CAPTURE(format->name);
    write_file(*format, directory.file("a"));
    write_file(*format, directory.file("b"));
    CHECK(test::read_text(directory.file("a")) == test::read_text(directory.file("b")));
  }
}

TEST_CASE("a file of another format is refused, with those that are known") {
  const test::TempDirectory directory;
  const std::string file = directory.file("notes.txt");
  test::write_text(file, "these are no weights");
  CHECK(test::error_of([&] { format_of(file); }) ==
        "3: " + file +
            ": not a file of weights; known: .weights.h5, .h5, .hdf5, .keras, .npz, .safetensors, "
            ".safetensors.index.json");
  CHECK(test::error_of([&] { format_of(directory.file("none")); }).starts_with("3: "));
  CHECK(find_format("weights.h5") == find_format("keras"));
  CHECK(find_format("npy") == nullptr);
}

}  // namespace
}  // namespace meshwork
