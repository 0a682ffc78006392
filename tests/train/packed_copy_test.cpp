// Small tensors in few copies.
#include "train/packed_copy.h"

#include <doctest/doctest.h>

#include <array>

using namespace meshwork;

namespace {

std::array<std::byte, 1024> memory;

TensorView at(std::size_t begin, const TensorType& type) { return {type, {}, &memory[begin]}; }

}  // namespace

TEST_CASE("tensors that stand near each other are one copy, in any order") {
  const TensorType scalar{DType::kInt64, {}}, rows{DType::kFloat32, {10}};
  const std::array tensors{at(320, scalar), at(256, rows), TensorView{}, at(512, scalar),
                           at(576, rows)};
  const PackedCopy copy(tensors, 64);
  REQUIRE(copy.ranges.size() == 2);
  CHECK(copy.ranges[0].device == &memory[256]);
  CHECK(copy.ranges[0].bytes == 72);
  CHECK(copy.ranges[1].device == &memory[512]);
  CHECK(copy.ranges[1].bytes == 104);
  CHECK(copy.places == std::vector<std::int64_t>{64, 0, PackedCopy::kNowhere, 72, 136});
  CHECK(copy.bytes == 176);
}

TEST_CASE("what lies farther apart than it may is copied for itself") {
  const TensorType scalar{DType::kFloat32, {}};
  const std::array tensors{at(0, scalar), at(64, scalar)};
  CHECK(PackedCopy(tensors, 60).ranges.size() == 2);
  CHECK(PackedCopy(tensors, 60).bytes == 16);
  CHECK(PackedCopy(tensors, 61).ranges.size() == 1);
}

TEST_CASE("a tensor within another is copied with it; nothing is no copy") {
  const std::array tensors{at(0, {DType::kFloat32, {40}}), at(16, {DType::kFloat32, {2}})};
  const PackedCopy copy(tensors, 1);
  CHECK(copy.ranges.size() == 1);
  CHECK(copy.bytes == 160);
  CHECK(copy.places == std::vector<std::int64_t>{0, 16});
  CHECK(PackedCopy({}, 64).ranges.empty());
}
