#include "sharding/reshard.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "support/text/layouts.h"

using namespace meshwork;
using meshwork::testing::parse_layout;

namespace {

const Mesh kMesh{{"data", "model"}, {2, 4}};

Layout layout(const char* text) { return parse_layout(text, kMesh); }

std::string steps(const char* from, const char* to) {
  std::string text;
  for (const ReshardStep& step : reshard_steps(layout(from), layout(to), {64, 64}, kMesh)) {
    if (!text.empty()) text += ", ";
    text += std::string(to_string(step.kind)) + "(";
    for (const int axis : step.axes) text += axis == 0 ? "d" : "m";
    text += ")";
  }
  return text;
}

/// Every layout of a matrix over both axes: each axis on a dimension, partial, or nowhere.
std::vector<Layout> all_layouts() {
  std::vector<Layout> result;
  for (int first = 0; first < 4; ++first) {
    for (int second = 0; second < 4; ++second) {
      for (const bool swapped : {false, true}) {
        Layout l = replicated(2);
        const int places[] = {first, second};
        for (int k = 0; k < 2; ++k) {
          const int axis = swapped ? 1 - k : k;
          const int place = places[axis];
          if (place < 2) l.dims[static_cast<std::size_t>(place)].push_back(axis);
          if (place == 2) l.partial.push_back(axis);
        }
        std::sort(l.partial.begin(), l.partial.end());
        if (std::find(result.begin(), result.end(), l) == result.end()) result.push_back(l);
      }
    }
  }
  return result;
}

}  // namespace

TEST_CASE("the reshard table") {
  CHECK(steps("[data, null]", "[data, null]") == "");
  CHECK(steps("[data, null]", "[null, null]") == "all_gather(d)");
  CHECK(steps("[null, null] partial(data)", "[null, null]") == "all_reduce(d)");
  CHECK(steps("[null, null] partial(data)", "[data, null]") == "reduce_scatter(d)");
  CHECK(steps("[data, null]", "[null, data]") == "all_to_all(d)");
  CHECK(steps("[null, null]", "[data, null]") == "slice(d)");
  CHECK(steps("[null, null]", "[null, null] partial(data)") == "keep_one(d)");
}

TEST_CASE("moves over several axes are joined where one collective does") {
  CHECK(steps("[[data, model], null]", "[null, null]") == "all_gather(dm)");
  CHECK(steps("[null, null] partial(data, model)", "[null, null]") == "all_reduce(dm)");
  CHECK(steps("[null, null] partial(data, model)", "[[data, model], null]") ==
        "reduce_scatter(dm)");
  CHECK(steps("[null, null]", "[[model, data], null]") == "slice(md)");
  CHECK(steps("[[data, model], null]", "[data, null]") == "all_gather(m)");
  CHECK(steps("[[data, model], null]", "[data, model]") == "all_to_all(m)");
  // The major axis cannot go while the minor one stays.
  CHECK(steps("[[data, model], null]", "[model, null]") == "all_gather(dm), slice(m)");
}

TEST_CASE("the tensor is small before it is large") {
  CHECK(steps("[model, null] partial(data)", "[null, data]") == "reduce_scatter(d), all_gather(m)");
  CHECK(steps("[model, null] partial(data)", "[null, null]") == "all_reduce(d), all_gather(m)");
}

TEST_CASE("every layout can be reached from every layout, one step at a time") {
  for (const Layout& from : all_layouts()) {
    for (const Layout& to : all_layouts()) {
      CAPTURE(to_string(from, kMesh));
      CAPTURE(to_string(to, kMesh));
      const auto steps = reshard_steps(from, to, {64, 64}, kMesh);
      CHECK(steps.empty() == (from == to));
      CHECK(steps.size() <= 6);
      if (!steps.empty()) CHECK(steps.back().after == to);
      CHECK(reshard_bytes(from, to, {DType::kFloat32, {64, 64}}, kMesh) >= 0);
    }
  }
}

TEST_CASE("bytes that one device sends") {
  const TensorType type{DType::kFloat32, {64, 32}};  // 8192 bytes
  CHECK(reshard_bytes(layout("[data, null]"), layout("[null, null]"), type, kMesh) == 4096);
  CHECK(reshard_bytes(layout("[model, null]"), layout("[null, null]"), type, kMesh) == 6144);
  CHECK(reshard_bytes(layout("[null, null] partial(model)"), layout("[null, null]"), type, kMesh) ==
        12288);
  CHECK(reshard_bytes(layout("[null, null] partial(model)"), layout("[model, null]"), type,
                      kMesh) == 6144);
  CHECK(reshard_bytes(layout("[model, null]"), layout("[null, model]"), type, kMesh) == 1536);
  CHECK(reshard_bytes(layout("[null, null]"), layout("[model, null]"), type, kMesh) == 0);
}

TEST_CASE("bfloat16 moves in two bytes and is added up in four") {
  const TensorType type{DType::kBFloat16, {64, 32}};
  CHECK(reshard_bytes(layout("[data, null]"), layout("[null, null]"), type, kMesh) == 2048);
  CHECK(reshard_bytes(layout("[null, null] partial(model)"), layout("[null, null]"), type, kMesh) ==
        12288);
}

TEST_CASE("the nearest of several layouts is the source") {
  const std::vector<Layout> there{layout("[null, null] partial(data)"), layout("[data, null]"),
                                  layout("[null, null]")};
  const TensorType type{DType::kFloat32, {64, 32}};
  CHECK(nearest_layout(there, layout("[data, null]"), type, kMesh).index == 1);
  CHECK(nearest_layout(there, layout("[null, data]"), type, kMesh).index == 2);
  CHECK(nearest_layout(there, layout("[null, null] partial(data)"), type, kMesh).index == 0);
}

TEST_CASE("tiles get their halos last, along one dimension after the other") {
  // 64 rows over 2, 64 columns over 4
  const char* tiles = "[data, model]";
  const char* halos = "[data{0:33 31:64}, model{0:17 15:33 31:49 47:64}]";
  CHECK(steps(tiles, halos) == "halo_exchange(d), halo_exchange(m)");
  CHECK(steps(tiles, "[data{0:33 31:64}, model]") == "halo_exchange(d)");
  CHECK(steps("[null, model]", "[data{0:33 31:64}, model]") == "slice(d)");
  CHECK(steps("[null, null]", halos) == "slice(d), slice(m)");
  CHECK(steps("[null, model]", halos) == "slice(d), halo_exchange(m)");
  CHECK(steps("[null, data]", "[data{0:33 31:64}, null]") == "all_to_all(d), halo_exchange(d)");
  CHECK(steps("[null, null] partial(data)", "[data{0:33 31:64}, null]") ==
        "reduce_scatter(d), halo_exchange(d)");
}

TEST_CASE("what holds enough is cut, not exchanged") {
  CHECK(steps("[data{0:33 31:64}, null]", "[data, null]") == "slice(d)");
  CHECK(steps("[data{0:34 30:64}, null]", "[data{0:33 31:64}, null]") == "slice(d)");
  CHECK(steps("[data, null]", "[data{0:30 34:64}, null]") == "slice(d)");
}

TEST_CASE("a halo costs what a device misses") {
  const TensorType type{DType::kFloat32, {64, 32}};
  // Each half receives a row of 128 bytes.
  CHECK(reshard_bytes(layout("[data, null]"), layout("[data{0:33 31:64}, null]"), type, kMesh) ==
        doctest::Approx(128));
  CHECK(reshard_bytes(layout("[null, null]"), layout("[data{0:33 31:64}, null]"), type, kMesh) ==
        0);
  CHECK(reshard_bytes(layout("[data{0:33 31:64}, null]"), layout("[data, null]"), type, kMesh) ==
        0);
}

TEST_CASE("a layout with halos is a source only of what it holds") {
  const std::vector<Layout> there{layout("[data, null]"), layout("[data{0:33 31:64}, null]")};
  const TensorType type{DType::kFloat32, {64, 32}};
  CHECK(nearest_layout(there, layout("[data{0:33 31:64}, null]"), type, kMesh).index == 1);
  CHECK(nearest_layout(there, layout("[data{0:34 31:64}, null]"), type, kMesh).index == 0);
  CHECK(nearest_layout(there, layout("[null, null]"), type, kMesh).index == 0);
}
