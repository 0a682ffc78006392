#include "sharding/layout.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "support/text/layouts.h"

using namespace meshwork;
using meshwork::testing::parse_layout;

namespace {

const Mesh kMesh{{"data", "model"}, {2, 4}};

std::vector<std::int64_t> sizes(std::int64_t extent, const std::vector<int>& axes,
                                const Mesh& mesh) {
  std::vector<std::int64_t> result;
  std::int64_t expected_offset = 0;
  for (const int device : mesh.group(axes, 0)) {
    const Interval block = block_of(extent, axes, mesh, device);
    CHECK(block.begin == expected_offset);
    expected_offset = block.end;
    result.push_back(block.size());
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
      const Interval outer = block_of(extent, {0}, kMesh, device);
      const Interval inner = block_of(extent, {0, 1}, kMesh, device);
      CHECK(intersection(inner, outer) == inner);
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

TEST_CASE("a tile with its halo is an interval of its own") {
  // 10 rows over two devices, each with a row of the other.
  const Layout tiles = parse_layout("[data{0:6 4:10}, model]", kMesh);
  CHECK(to_string(tiles, kMesh) == "[data{0:6 4:10}, model]");
  CHECK(has_halo(tiles, 0));
  CHECK(!has_halo(tiles, 1));
  CHECK(local_shape({10, 8}, tiles, kMesh, 0) == Shape{6, 2});
  CHECK(local_region({10, 8}, tiles, kMesh, 5) == Region{{10, 8}, {4, 2}});
  CHECK(mean_local_elements({10, 8}, tiles, kMesh) == doctest::Approx(12));
  CHECK(without_halos(tiles) == parse_layout("[data, model]", kMesh));
  CHECK(!(tiles == without_halos(tiles)));
}

TEST_CASE("the halo of two axes counts parts with the first axis slowest") {
  const Layout tiles =
      parse_layout("[[data, model]{0:2 0:3 1:4 2:5 3:6 4:7 5:8 6:8}, null]", kMesh);
  CHECK(to_string(tiles, kMesh) == "[[data, model]{0:2 0:3 1:4 2:5 3:6 4:7 5:8 6:8}, null]");
  for (int device = 0; device < 8; ++device) CHECK(part_of({0, 1}, kMesh, device) == device);
  CHECK(interval_of({8, 3}, tiles, 0, kMesh, 6) == Interval{5, 8});
}

TEST_CASE("blocks_of lists the blocks of all parts") {
  for (std::int64_t extent = 0; extent < 20; ++extent) {
    const auto blocks = blocks_of(extent, {0, 1}, kMesh);
    REQUIRE(blocks.size() == 8);
    for (int device = 0; device < 8; ++device) {
      CHECK(blocks[static_cast<std::size_t>(device)] == block_of(extent, {0, 1}, kMesh, device));
    }
  }
}

TEST_CASE("the halo of a window") {
  const Mesh mesh{{"height"}, {2}};
  const Reach three{.up = 1, .down = 1, .first = 0, .last = 0, .begin = -1, .end = 1};
  CHECK(halo_of(three, 10, 10, {0}, mesh) == std::vector<Interval>{{0, 6}, {4, 10}});
  // Windows of two, two apart: tiles of even size are enough.
  const Reach pairs{.up = 2, .down = 1, .first = 0, .last = 0, .begin = 0, .end = 1};
  CHECK(halo_of(pairs, 6, 12, {0}, mesh).empty());
  // 5 results over two devices: 6 elements and 4, of 11 in tiles of 6 and 5.
  CHECK(halo_of(pairs, 5, 11, {0}, mesh).empty());
  CHECK(halo_of(pairs, 5, 10, {0}, mesh) == std::vector<Interval>{{0, 6}, {5, 10}});
  // More devices than results: the others hold what they have.
  const Mesh many{{"height"}, {4}};
  CHECK(halo_of(three, 2, 2, {0}, many) == std::vector<Interval>{{0, 2}, {0, 2}, {2, 2}, {2, 2}});
}

TEST_CASE("an order of devices moves parts to other devices and changes nothing else") {
  const std::vector<int> order{5, 0, 3, 6, 7, 1, 2, 4};
  const Mesh moved = ordered(kMesh, order);
  const Layout layout = parse_layout("[data, model]", kMesh);
  const Layout half = parse_layout("[null, data]", kMesh);
  for (int position = 0; position < 8; ++position) {
    const int device = order[static_cast<std::size_t>(position)];
    CHECK(moved.coordinates(device) == kMesh.coordinates(position));
    CHECK(moved.device_at(moved.coordinates(device)) == device);
    CHECK(local_region({5, 7}, layout, moved, device).offset ==
          local_region({5, 7}, layout, kMesh, position).offset);
    CHECK(local_shape({5, 7}, layout, moved, device) ==
          local_shape({5, 7}, layout, kMesh, position));
    CHECK(is_first_replica(half, moved, device) == is_first_replica(half, kMesh, position));
    for (const std::vector<int>& axes : {std::vector<int>{0}, {1}, {0, 1}, {1, 0}}) {
      // Members stand in the order of their positions, in which sums are taken.
      std::vector<int> expected = kMesh.group(axes, position);
      for (int& member : expected) member = order[static_cast<std::size_t>(member)];
      CHECK(moved.group(axes, device) == expected);
    }
  }
}
