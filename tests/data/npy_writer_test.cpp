#include "data/npy_writer.h"

#include <doctest/doctest.h>
#include <sys/stat.h>

#include <filesystem>
#include <thread>

#include "data/files.h"

using namespace meshwork;
using namespace meshwork::test;
using data::NpyWriter;

namespace {

std::vector<float> read_back(const TempDir& dir, Shape& shape) {
  const data::Dataset opened = dataset(dir, "{format: npy, splits: {test: {x: p.npy}}}");
  const data::Split& split = opened.split("test");
  shape = split.fields[0].source->info().shape;
  return floats(split, "x");
}

}  // namespace

TEST_CASE("devices write their rows and columns into one file") {
  const TempDir dir;
  const Shape shape{5, 3};
  NpyWriter first = NpyWriter::create(dir.file("p.npy"), DType::kFloat32, shape);
  std::vector<std::thread> devices;
  for (std::int64_t device = 0; device < 4; ++device) {  // rows in 3 + 2, columns in 2 + 1
    devices.emplace_back([&first, &shape, device] {
      const Shape offset{device / 2 * 3, device % 2 * 2};
      const Shape local{device / 2 == 0 ? 3 : 2, device % 2 == 0 ? 2 : 1};
      std::vector<float> values;
      for (std::int64_t i = 0; i < local[0]; ++i) {
        for (std::int64_t j = 0; j < local[1]; ++j) {
          values.push_back(static_cast<float>((offset[0] + i) * 3 + offset[1] + j));
        }
      }
      NpyWriter mine = NpyWriter::join(first.partial(), DType::kFloat32, shape);
      mine.write({shape, offset}, local, values.data());
      mine.close();
    });
  }
  for (std::thread& device : devices) device.join();
  first.close();
  CHECK_FALSE(std::filesystem::exists(dir.file("p.npy")));
  first.publish();
  CHECK_FALSE(std::filesystem::exists(first.partial()));
  const std::string bytes = read_file(dir.file("p.npy"));
  CHECK(bytes.size() == 128 + 60);
  CHECK(contains(bytes, "{'descr': '<f4', 'fortran_order': False, 'shape': (5, 3), }"));
  CHECK(bytes[127] == '\n');
  Shape back;
  std::vector<float> expected(15);
  for (std::size_t i = 0; i < 15; ++i) expected[i] = static_cast<float>(i);
  CHECK(read_back(dir, back) == expected);
  CHECK(back == shape);
}

TEST_CASE("an unpublished file goes away, an old one stays") {
  const TempDir dir;
  dir.write("p.npy", "old");
  std::string partial;
  {
    const NpyWriter writer = NpyWriter::create(dir.file("p.npy"), DType::kFloat32, {2});
    const NpyWriter other = NpyWriter::create(dir.file("p.npy"), DType::kFloat32, {3});
    partial = writer.partial();
    CHECK(partial != other.partial());
    CHECK(std::filesystem::exists(partial));
  }
  CHECK_FALSE(std::filesystem::exists(partial));
  CHECK(read_file(dir.file("p.npy")) == "old");
}

TEST_CASE("empty arrays and empty parts") {
  const TempDir dir;
  NpyWriter writer = NpyWriter::create(dir.file("e.npy"), DType::kInt32, {0, 4});
  writer.write({{0, 4}, {0, 2}}, {0, 2}, nullptr);
  writer.close();
  writer.publish();
  CHECK(read_file(dir.file("e.npy")).size() == 128);
}

TEST_CASE("places that cannot be written are errors") {
  const TempDir dir;
  CHECK(contains(error_of([&] { NpyWriter::create(dir.file("no/p.npy"), DType::kFloat32, {1}); }),
                 ".partial: cannot create: No such file or directory"));
  CHECK(contains(error_of([&] { NpyWriter::join(dir.file("p.npy"), DType::kFloat32, {1}); }),
                 dir.file("p.npy") + ": cannot open"));
  std::filesystem::create_directory(dir.file("p.npy"));
  CHECK(contains(error_of([&] { NpyWriter::create(dir.file("p.npy"), DType::kFloat32, {1}); }),
                 dir.file("p.npy") + ": not a regular file"));
}
