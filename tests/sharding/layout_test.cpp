#include "sharding/layout.h"

#include <doctest/doctest.h>

#include <algorithm>

using namespace meshwork;

namespace {

const Mesh kMesh{{"data", "model"}, {2, 4}};

std::vector<std::int64_t> sizes(std::int64_t extent, const std::vector<int>& axes,
                                const Mesh& mesh) {
  std::vector<std::int64_t> result;
  std::int64_t expected_offset = 0;
  for (const int device : mesh.group(axes, 0)) {
    const Block block = block_of(extent, axes, mesh, device);
    CHECK(block.offset == expected_offset);
    expected_offset += block.size;
    result.push_back(block.size);
  }
  CHECK(expected_offset == extent);
  return result;
}

}  // namespace

TEST_CASE("parts are balanced, the first ones longer, and may be empty") {
  CHECK(sizes(10, {1}, kMesh) == std::vector<std::int64_t>{3, 3, 2, 2});
  CHECK(sizes(8, {1}, kMesh) == std::vector<std::int64_t>{2, 2, 2, 2});
  CHECK(sizes(2, {1}, kMesh) == std::vector<std::int64_t>{1, 1, 0, 0});
  CHECK(sizes(0, {1}, kMesh) == std::vector<std::int64_t>{0, 0, 0, 0});
  CHECK(sizes(10, {}, kMesh) == std::vector<std::int64_t>{10});
}

TEST_CASE("two axes divide a dimension one after the other") {
  // 11 -> 6 + 5, then each over 4.
  CHECK(sizes(11, {0, 1}, kMesh) == std::vector<std::int64_t>{2, 2, 1, 1, 2, 1, 1, 1});
  CHECK(sizes(11, {1, 0}, kMesh) == std::vector<std::int64_t>{2, 1, 2, 1, 2, 1, 1, 1});
  for (std::int64_t extent = 0; extent < 40; ++extent) {
    const auto parts = sizes(extent, {0, 1}, kMesh);
    const auto [least, most] = std::minmax_element(parts.begin(), parts.end());
    CHECK(*most - *least <= 1);
  }
}

TEST_CASE("a part of both axes lies inside the part of the first") {
  for (int device = 0; device < kMesh.num_devices(); ++device) {
    for (const std::int64_t extent : {1, 7, 10, 31}) {
      const Block outer = block_of(extent, {0}, kMesh, device);
      const Block inner = block_of(extent, {0, 1}, kMesh, device);
      CHECK(inner.offset >= outer.offset);
      CHECK(inner.offset + inner.size <= outer.offset + outer.size);
    }
  }
}

TEST_CASE("layouts print and read back") {
  Layout layout = replicated(3);
  layout.dims[0] = {0};
  layout.dims[2] = {1};
  CHECK(to_string(layout, kMesh) == "[data, null, model]");
  layout.dims[2].clear();
  layout.dims[0] = {1, 0};
  CHECK(to_string(layout, kMesh) == "[[model, data], null, null]");
  CHECK(parse_layout(to_string(layout, kMesh), kMesh) == layout);
  Layout partial = replicated(1);
  partial.partial = {0, 1};
  CHECK(to_string(partial, kMesh) == "[null] partial(data, model)");
  CHECK(parse_layout(to_string(partial, kMesh), kMesh) == partial);
  partial.reduction = Reduction::kMax;
  CHECK(to_string(partial, kMesh) == "[null] partial_max(data, model)");
  CHECK(parse_layout(to_string(partial, kMesh), kMesh) == partial);
  CHECK(to_string(replicated(0), kMesh) == "[]");
  CHECK(parse_layout("[]", kMesh) == replicated(0));
}

TEST_CASE("of the replicas of a part exactly one is the first") {
  Layout layout = replicated(2);
  layout.dims[1] = {1};
  int owners = 0;
  for (int device = 0; device < 8; ++device)
    owners += is_first_replica(layout, kMesh, device) ? 1 : 0;
  CHECK(owners == 4);
  CHECK(is_first_replica(layout, kMesh, 3));
  CHECK_FALSE(is_first_replica(layout, kMesh, 7));
}

TEST_CASE("groups follow the order of their axes") {
  CHECK(kMesh.group(std::vector<int>{1}, 5) == std::vector<int>{4, 5, 6, 7});
  CHECK(kMesh.group(std::vector<int>{0}, 5) == std::vector<int>{1, 5});
  CHECK(kMesh.group(std::vector<int>{1, 0}, 5) == std::vector<int>{0, 4, 1, 5, 2, 6, 3, 7});
  CHECK(kMesh.group(std::vector<int>{}, 5) == std::vector<int>{5});
}
