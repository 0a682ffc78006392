#include "state/safetensors.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <chrono>
#include <cstring>
#include <numeric>

#include "base/check.h"
#include "comm/thread.h"
#include "state/shards.h"
#include "state/stored_tensors.h"
#include "support/errors.h"
#include "support/temp_directory.h"

namespace meshwork {
namespace {

const std::vector<GlobalTensor> kTensors{{"d2/kernel", DType::kFloat32, {10, 6}},
                                         {"d1/mask", DType::kUInt8, {3}},
                                         {"d1/empty", DType::kFloat32, {0, 4}},
                                         {"iteration", DType::kInt64, {}},
                                         {"d1/bias", DType::kInt32, {5}}};

struct Mesh {
  std::int64_t rows;
  std::int64_t columns;
};

struct Values {
  std::vector<float> kernel = std::vector<float>(60);
  std::vector<std::uint8_t> mask = {1, 0, 255};
  std::vector<float> empty;
  std::vector<std::int64_t> iteration = {-7};
  std::vector<std::int32_t> bias = {5, 4, 3, 2, 1};

  Values() { std::iota(kernel.begin(), kernel.end(), 0.5F); }
};

test::Shard whole(const Shape& shape) { return {whole_region(shape), shape}; }

/// Writes all tensors; the kernel is cut rows x columns, the bias over all devices, the rest is
/// replicated. Replicas that do not own hold garbage, which must not reach the file.
void write_on_mesh(const std::string& file, std::int64_t rows, std::int64_t columns) {
  const Values values;
  run_devices(static_cast<int>(rows * columns), [&](World& world) {
    const int device = world.hosts->rank();
    const bool owner = device == world.hosts->size() - 1;
    const test::Shard kernel = test::shard_of({10, 6}, {rows, columns}, device);
    const test::Shard bias = test::shard_of({5}, {rows * columns}, device);
    const std::vector<float> kernel_part = test::cut(values.kernel, kernel);
    const std::vector<std::int32_t> bias_part = test::cut(values.bias, bias);
    const std::vector<std::uint8_t> mask = owner ? values.mask : std::vector<std::uint8_t>{9, 9, 9};
    write_safetensors(
        file, kTensors,
        {test::part_of(0, kernel, kernel_part), test::part_of(1, whole({3}), mask, owner),
         test::part_of(2, whole({0, 4}), values.empty, owner),
         test::part_of(3, whole({}), values.iteration, owner), test::part_of(4, bias, bias_part)},
        {{"epoch", "3"}}, *world.hosts);
  });
}

template <class T>
std::vector<T> read_part(const SafetensorsFile& file, std::size_t tensor,
                         const test::Shard& shard) {
  std::vector<T> part(static_cast<std::size_t>(num_elements(shard.shape)));
  file.read(kTensors[tensor], shard.region, shard.shape, reinterpret_cast<std::byte*>(part.data()));
  return part;
}

TEST_CASE("the file is the same whoever wrote it") {
  const test::TempDirectory directory;
  write_on_mesh(directory.file("alone"), 1, 1);
  const std::string alone = test::read_text(directory.file("alone"));
  for (const Mesh& mesh : {Mesh{2, 1}, Mesh{1, 4}, Mesh{2, 2}, Mesh{3, 1}, Mesh{4, 2}}) {
    CAPTURE(mesh.rows);
    CAPTURE(mesh.columns);
    write_on_mesh(directory.file("mesh"), mesh.rows, mesh.columns);
    CHECK(test::read_text(directory.file("mesh")) == alone);
  }
  CHECK_FALSE(directory.has_partial_files());
}

TEST_CASE("the bytes are those of the format") {
  const test::TempDirectory directory;
  write_on_mesh(directory.file("w"), 1, 1);
  const std::string bytes = test::read_text(directory.file("w"));
  const std::string json = R"({"__metadata__":{"epoch":"3","format":"meshwork","version":"1"},)"
                           R"("d1/bias":{"data_offsets":[8,28],"dtype":"I32","shape":[5]},)"
                           R"("d1/empty":{"data_offsets":[28,28],"dtype":"F32","shape":[0,4]},)"
                           R"("d1/mask":{"data_offsets":[268,271],"dtype":"U8","shape":[3]},)"
                           R"("d2/kernel":{"data_offsets":[28,268],"dtype":"F32","shape":[10,6]},)"
                           R"("iteration":{"data_offsets":[0,8],"dtype":"I64","shape":[]}})";
  std::uint64_t length = 0;
  std::memcpy(&length, bytes.data(), sizeof length);
  CHECK(length % 8 == 0);
  const std::string header = bytes.substr(8, length);
  CHECK(header.substr(0, header.find_last_not_of(' ') + 1) == json);
  CHECK(bytes.size() == 8 + length + 271);
  CHECK(bytes.ends_with(std::string("\x01\x00\xff", 3)));
}

TEST_CASE("every mesh reads its parts of what another wrote") {
  const test::TempDirectory directory;
  const std::string name = directory.file("w.safetensors");
  const Values values;
  write_on_mesh(name, 2, 2);
  for (const Shape& parts : {Shape{1, 1}, Shape{3, 1}, Shape{1, 4}, Shape{4, 3}, Shape{12, 7}}) {
    run_devices(static_cast<int>(std::min<std::int64_t>(num_elements(parts), 8)),
                [&](World& world) {
                  const SafetensorsFile file(name);
                  file.check_tensors(kTensors);
                  for (std::int64_t i = world.hosts->rank(); i < num_elements(parts);
                       i += world.hosts->size()) {
                    const test::Shard shard = test::shard_of({10, 6}, parts, i);
                    CHECK(read_part<float>(file, 0, shard) == test::cut(values.kernel, shard));
                  }
                });
  }
  const SafetensorsFile file(name);
  CHECK(read_part<std::uint8_t>(file, 1, whole({3})) == values.mask);
  CHECK(read_part<float>(file, 2, whole({0, 4})).empty());
  CHECK(read_part<std::int64_t>(file, 3, whole({})) == values.iteration);
  CHECK(file.metadata() == Metadata{{"epoch", "3"}, {"format", "meshwork"}, {"version", "1"}});
}

TEST_CASE("no tensors at all make a file, too") {
  const test::TempDirectory directory;
  run_devices(2, [&](World& world) {
    write_safetensors(directory.file("none"), {}, {}, {}, *world.hosts);
  });
  CHECK(SafetensorsFile(directory.file("none")).tensors().empty());
}

TEST_CASE("a tensor without an owner, or with two, breaks an invariant on all members") {
  const test::TempDirectory directory;
  for (const bool owner : {false, true}) {
    run_devices(2, [&](World& world) {
      const std::vector<float> values(4);
      CHECK_THROWS_AS(
          write_safetensors(directory.file("w"), {{"a", DType::kFloat32, {4}}},
                            {test::part_of(0, whole({4}), values, owner)}, {}, *world.hosts),
          CheckFailure);
    });
  }
  CHECK(std::filesystem::is_empty(directory.path()));
}

TEST_CASE("what cannot be written is an error on all members, and the old file stays") {
  const test::TempDirectory directory;
  const auto write = [&](const std::string& name, const std::string& path, HostGroup& hosts) {
    const std::vector<float> values(4);
    return test::error_of([&] {
      write_safetensors(name, {{path, DType::kFloat32, {4}}},
                        {test::part_of(0, whole({4}), values, hosts.rank() == 1)}, {}, hosts);
    });
  };
  const std::string absent = directory.file("absent/w");
  const std::string taken = directory.file("taken");
  std::filesystem::create_directories(taken + "/full");
  const std::string good = directory.file("good");
  run_devices(3, [&](World& world) {
    CHECK(write(absent, "a", *world.hosts)
              .ends_with(".partial: cannot create: No such file or directory"));
    CHECK(write(taken, "a", *world.hosts) ==
          "3: " + taken + ": not a regular file, which alone can be replaced; name another");
    CHECK(write(good, "a", *world.hosts).empty());
    CHECK(write(good, "\xff", *world.hosts) ==
          "3: " + good + ": a path or the metadata is not UTF-8 text");
  });
  CHECK(SafetensorsFile(good).tensors().at(0).path == "a");
  CHECK_FALSE(directory.has_partial_files());
}

TEST_CASE("what does not fit the model is listed with the nearest names") {
  const test::TempDirectory directory;
  const std::string name = directory.file("w");
  write_on_mesh(name, 1, 1);
  const SafetensorsFile file(name);
  std::vector<GlobalTensor> expected = kTensors;
  expected[0].shape = {10, 7};
  CHECK(test::error_of([&] { file.check_tensors(expected); }) ==
        "3: " + name +
            ": 'd2/kernel' is float32[10, 6] in the file, float32[10, 7] in the model; " +
            test::kMisfitWayOut);
  expected[1].path = "d1/task";
  expected[3].dtype = DType::kInt32;
  CHECK(test::error_of([&] { file.check_tensors(expected); }) ==
        "3: " + name +
            ": 4 tensors do not fit:"
            "\n  no tensor 'd1/task', uint8[3] in the model; nearest: 'd1/mask'"
            "\n  'd2/kernel' is float32[10, 6] in the file, float32[10, 7] in the model"
            "\n  'iteration' is int64[] in the file, int32[] in the model"
            "\n  'd1/mask', uint8[3] in the file, is not in the model; nearest: 'd1/task'\n" +
            test::kMisfitWayOut);
  file.check_tensors({kTensors[3]}, true);
  CHECK(test::contains(test::error_of([&] { file.check_tensors({kTensors[3]}); }), "4 tensors"));

  std::vector<GlobalTensor> many;
  for (int i = 0; i < 30; ++i) many.push_back({fmt::format("x{:02}", i), DType::kFloat32, {}});
  const std::string error = test::error_of([&] { file.check_tensors(many, true); });
  CHECK(test::contains(error, "30 tensors do not fit"));
  CHECK(error.ends_with("\n  no tensor 'x09', float32[] in the model\n  and 20 more\n" +
                        test::kMisfitWayOut));
}

TEST_CASE("thousands of tensors that do not fit are counted, not searched") {
  std::vector<StoredTensor> stored;
  std::vector<GlobalTensor> expected;
  for (int i = 0; i < 16000; ++i) {
    stored.push_back({fmt::format("foreign/of/another/model/{:05}", i), "F32", {}, 0, 4});
    expected.push_back({fmt::format("stage/basic/conv2d_{:05}/kernel", i), DType::kFloat32, {}});
  }
  const auto begin = std::chrono::steady_clock::now();
  CHECK(test::contains(test::error_of([&] { check_stored_tensors("w", stored, expected, false); }),
                       "w: 32000 tensors do not fit:"));
  // By the names of all it would be an hour.
  CHECK(std::chrono::steady_clock::now() - begin < std::chrono::seconds(60));
}

TEST_CASE("read refuses what is not there") {
  const test::TempDirectory directory;
  write_on_mesh(directory.file("w"), 1, 1);
  const SafetensorsFile file(directory.file("w"));
  std::vector<std::byte> bytes(1000);
  const auto read = [&](const GlobalTensor& tensor) {
    return test::error_of(
        [&] { file.read(tensor, whole_region(tensor.shape), tensor.shape, bytes.data()); });
  };
  CHECK(test::contains(read({"d1/kernel", DType::kFloat32, {2}}),
                       "no tensor 'd1/kernel', float32[2]"));
  CHECK(
      test::contains(read({"d1/bias", DType::kFloat32, {5}}), "'d1/bias' is int32[5] in the file"));
  CHECK(read({"d1/bias", DType::kInt32, {5}}).empty());
  std::filesystem::resize_file(file.name(), std::filesystem::file_size(file.name()) - 1);
  CHECK(test::contains(read(kTensors[1]), "the file ends"));
}

}  // namespace
}  // namespace meshwork
