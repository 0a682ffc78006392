#include "state/renamed_tensors.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/bfloat16.h"
#include "state/shards.h"

namespace meshwork {
namespace {

/// A tensor in memory whose element i is i, and how many bytes of it were read.
class CountingFile : public TensorFile {
 public:
  CountingFile(DType dtype, const Shape& shape) : TensorFile("w"), shape_(shape), dtype_(dtype) {
    set_tensors({{"theirs", std::string(safetensors_word(dtype)), shape, 0, 0}});
  }

  void read(const StoredTensor& /*tensor*/, const Region& region, const Shape& local,
            std::byte* to) const override {
    const test::Shard part{region, local};
    CHECK(region.global == shape_);
    for (std::int64_t i = 0; i < num_elements(local); ++i) {
      const auto value = static_cast<float>(test::global_index(part, i));
      const BFloat16 rounded(value);
      const auto size = static_cast<std::int64_t>(size_of(dtype_));
      const void* from = dtype_ == DType::kFloat32 ? static_cast<const void*>(&value) : &rounded;
      std::memcpy(to + i * size, from, static_cast<std::size_t>(size));
    }
    const std::int64_t bytes = num_elements(local) * static_cast<std::int64_t>(size_of(dtype_));
    largest_ = std::max(largest_, bytes);
    bytes_ += bytes;
  }

  std::int64_t largest() const { return largest_; }
  std::int64_t take_bytes() const { return std::exchange(bytes_, 0); }

 private:
  Shape shape_;
  DType dtype_;
  mutable std::int64_t bytes_ = 0;
  mutable std::int64_t largest_ = 0;
};

using Factor = StoredDimension::Factor;

struct View {
  View(DType dtype, const Shape& stored, const Shape& shape,
       const std::vector<StoredDimension>& dimensions)
      : variable{"ours", DType::kFloat32, shape} {
    auto counting = std::make_unique<CountingFile>(dtype, stored);
    counts = counting.get();
    file = std::make_unique<RenamedTensors>(
        std::move(counting), std::vector<RenamedTensor>{{variable, "theirs", dimensions}});
  }

  std::vector<float> read(const test::Shard& part) const {
    std::vector<float> values(static_cast<std::size_t>(num_elements(part.shape)), -1);
    file->read(file->tensors()[0], part.region, part.shape,
               reinterpret_cast<std::byte*>(values.data()));
    return values;
  }
  std::vector<float> whole() const { return read(test::shard_of(variable.shape, ones(), 0)); }
  Shape ones() const { return Shape(variable.shape.size(), 1); }

  /// Every part of the variable, on so many devices along each dimension, reads its own numbers and
  /// no byte beside them.
  void check_parts(const Shape& devices, std::int64_t element_bytes) const {
    const std::vector<float> all = whole();
    counts->take_bytes();
    for (std::int64_t device = 0; device < num_elements(devices); ++device) {
      CAPTURE(device);
      const test::Shard part = test::shard_of(variable.shape, devices, device);
      CHECK(read(part) == test::cut(all, part));
      CHECK(counts->take_bytes() == num_elements(part.shape) * element_bytes);
    }
  }

  GlobalTensor variable;
  const CountingFile* counts = nullptr;
  std::unique_ptr<RenamedTensors> file;
};

}  // namespace

TEST_CASE("a transposed tensor") {
  const View view(DType::kFloat32, {3, 4}, {4, 3}, {{0, {{3, 1}}}, {0, {{4, 0}}}});
  CHECK(view.whole() == std::vector<float>{0, 4, 8, 1, 5, 9, 2, 6, 10, 3, 7, 11});
  view.check_parts({2, 1}, 4);
  view.check_parts({1, 2}, 4);
  view.check_parts({3, 2}, 4);
  view.check_parts({6, 1}, 4);  // two of them have nothing
}

TEST_CASE("rows as heads, transposed; each device reads its heads, or its features") {
  // [(5 heads, 2 wide), 6] -> [6, 5, 2]
  const View view(DType::kFloat32, {10, 6}, {6, 5, 2}, {{0, {{5, 1}, {2, 2}}}, {0, {{6, 0}}}});
  CHECK(view.whole()[0 * 10 + 3 * 2 + 1] == 7 * 6 + 0);
  CHECK(view.whole()[4 * 10 + 1 * 2 + 0] == 2 * 6 + 4);
  for (const Shape& devices :
       {Shape{1, 2, 1}, {1, 4, 1}, {4, 1, 1}, {2, 2, 1}, {1, 1, 2}, {2, 3, 2}}) {
    view.check_parts(devices, 4);
  }
}

TEST_CASE("a part of a fused tensor: a block of columns, or every third of them") {
  // [2, (3 parts, 2 heads, 2 wide)]: the second part
  const View block(DType::kFloat32, {2, 12}, {2, 2, 2}, {{0, {{2, 0}}}, {4, {{2, 1}, {2, 2}}}});
  CHECK(block.whole() == std::vector<float>{4, 5, 6, 7, 16, 17, 18, 19});
  block.check_parts({2, 2, 1}, 4);
  // [2, (2 heads, 3 parts, 2 wide)]: the third
  const View mixed(DType::kFloat32, {2, 12}, {2, 2, 2},
                   {{0, {{2, 0}}}, {0, {{2, 1}, {3, Factor::kFixed, 2}, {2, 2}}}});
  CHECK(mixed.whole() == std::vector<float>{4, 5, 10, 11, 16, 17, 22, 23});
  mixed.check_parts({1, 2, 2}, 4);
}

TEST_CASE("the first rows, a dimension of extent 1, a scalar") {
  const View rows(DType::kFloat32, {5, 2}, {3, 2}, {{0, {{3, 0}}}, {0, {{2, 1}}}});
  CHECK(rows.whole() == std::vector<float>{0, 1, 2, 3, 4, 5});
  rows.check_parts({2, 1}, 4);
  const View one(DType::kFloat32, {3}, {1, 3}, {{0, {{3, 1}}}});
  CHECK(one.whole() == std::vector<float>{0, 1, 2});
  one.check_parts({2, 2}, 4);
  CHECK(View(DType::kFloat32, {}, {}, {}).whole() == std::vector<float>{0});
  CHECK(View(DType::kFloat32, {}, {1}, {}).whole() == std::vector<float>{0});
}

TEST_CASE("a variable in slices: each device reads those that it has, or its part of each") {
  // Slice i is the block i of the stored rows, transposed.
  auto counting = std::make_unique<CountingFile>(DType::kFloat32, Shape{12, 2});
  const CountingFile* counts = counting.get();
  const GlobalTensor variable{"ours", DType::kFloat32, {4, 2, 3}};
  std::vector<RenamedTensor> slices;
  for (const std::int64_t i : {2, 0, 3, 1}) {
    slices.push_back({variable, "theirs", {{3 * i, {{3, 1}}}, {0, {{2, 0}}}}, i});
  }
  const RenamedTensors file(std::move(counting), std::move(slices));
  REQUIRE(file.tensors().size() == 1);
  const auto read = [&](const test::Shard& part) {
    std::vector<float> values(static_cast<std::size_t>(num_elements(part.shape)), -1);
    file.read(file.tensors()[0], part.region, part.shape,
              reinterpret_cast<std::byte*>(values.data()));
    return values;
  };
  const std::vector<float> all = read(test::shard_of(variable.shape, {1, 1, 1}, 0));
  CHECK(all[0 * 6 + 1 * 3 + 2] == 2 * 2 + 1);
  CHECK(all[3 * 6 + 0 * 3 + 1] == (9 + 1) * 2);
  counts->take_bytes();
  for (const Shape& devices : {Shape{2, 1, 1}, {3, 1, 1}, {1, 2, 1}, {2, 1, 3}, {6, 2, 1}}) {
    for (std::int64_t device = 0; device < num_elements(devices); ++device) {
      const test::Shard part = test::shard_of(variable.shape, devices, device);
      CHECK(read(part) == test::cut(all, part));
      CHECK(counts->take_bytes() == num_elements(part.shape) * 4);
    }
  }
}

TEST_CASE("bfloat16 becomes float32, and half the bytes are read") {
  const View view(DType::kBFloat16, {4, 4}, {4, 4}, {{0, {{4, 1}}}, {0, {{4, 0}}}});
  CHECK(view.whole()[1] == 4);
  CHECK(view.file->tensors()[0].dtype == "F32");
  view.check_parts({2, 2}, 2);
}

TEST_CASE("a large tensor is read in pieces of 1 MiB at most") {
  const View view(DType::kFloat32, {700, 900}, {900, 700}, {{0, {{700, 1}}}, {0, {{900, 0}}}});
  const std::vector<float> values = view.whole();
  for (const std::int64_t i : {0, 1, 699, 700, 350'123, 629'999}) {
    CHECK(values[static_cast<std::size_t>(i)] == static_cast<float>(i % 700 * 900 + i / 700));
  }
  CHECK(view.counts->take_bytes() == 700 * 900 * 4);
  CHECK(view.counts->largest() <= 1 << 20);
  // Rows that are longer than that.
  const View wide(DType::kFloat32, {2, 300'000}, {300'000, 2},
                  {{0, {{2, 1}}}, {0, {{300'000, 0}}}});
  CHECK(wide.whole()[2 * 299'999 + 1] == 599'999);
  CHECK(wide.counts->largest() <= 1 << 20);
}

}  // namespace meshwork
