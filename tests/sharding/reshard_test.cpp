#include "sharding/reshard.h"

#include <doctest/doctest.h>

#include <algorithm>

using namespace meshwork;

namespace {

const Mesh kMesh{{"data", "model"}, {2, 4}};

Layout layout(const char* text) { return parse_layout(text, kMesh); }

std::string steps(const char* from, const char* to) {
  std::string text;
  for (const ReshardStep& step : reshard_steps(layout(from), layout(to))) {
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
      const bool possible = std::all_of(to.partial.begin(), to.partial.end(),
                                        [&](int axis) { return is_partial(from, axis); });
      if (!possible) continue;
      CAPTURE(to_string(from, kMesh));
      CAPTURE(to_string(to, kMesh));
      const auto steps = reshard_steps(from, to);
      CHECK(steps.empty() == (from == to));
      CHECK(steps.size() <= 6);
      if (!steps.empty()) CHECK(steps.back().after == to);
      CHECK(reshard_bytes(from, to, {64, 64}, 4, kMesh) >= 0);
    }
  }
}

TEST_CASE("bytes that one device sends") {
  const Shape shape{64, 32};  // 8192 bytes
  CHECK(reshard_bytes(layout("[data, null]"), layout("[null, null]"), shape, 4, kMesh) == 4096);
  CHECK(reshard_bytes(layout("[model, null]"), layout("[null, null]"), shape, 4, kMesh) == 6144);
  CHECK(reshard_bytes(layout("[null, null] partial(model)"), layout("[null, null]"), shape, 4,
                      kMesh) == 12288);
  CHECK(reshard_bytes(layout("[null, null] partial(model)"), layout("[model, null]"), shape, 4,
                      kMesh) == 6144);
  CHECK(reshard_bytes(layout("[model, null]"), layout("[null, model]"), shape, 4, kMesh) == 1536);
  CHECK(reshard_bytes(layout("[null, null]"), layout("[model, null]"), shape, 4, kMesh) == 0);
}

TEST_CASE("the nearest of several layouts is the source") {
  const std::vector<Layout> there{layout("[null, null] partial(data)"), layout("[data, null]"),
                                  layout("[null, null]")};
  const TensorType type{DType::kFloat32, {64, 32}};
  CHECK(nearest_layout(there, layout("[data, null]"), type, kMesh).index == 1);
  CHECK(nearest_layout(there, layout("[null, data]"), type, kMesh).index == 2);
  CHECK(nearest_layout(there, layout("[null, null] partial(data)"), type, kMesh).index == 0);
}
