// Axes in parts, where heads of keys are fewer than devices.
#include "sharding/refine_mesh.h"

#include <doctest/doctest.h>

#include "model/model.h"

using namespace meshwork;

namespace {

struct Refined {
  Mesh mesh;
  PinnedLayouts pinned;
  std::string layout(std::size_t variable) const {
    return to_string(pinned.variables[variable].layout, mesh);
  }
};

/// 12 heads of queries.
Refined refine(int key_heads, int devices, const std::string& more = "") {
  const std::string text =
      "mesh: {data: 2, model: " + std::to_string(devices) +
      "}\nlayout_map: {'.*(query|key|value)/kernel': [null, model]" + more +
      "}\nmodel:\n  input: [5, 6]\n  layers:\n    - GroupQueryAttention: {head_dim: 4, "
      "num_query_heads: 12, num_key_value_heads: " +
      std::to_string(key_heads) + ", use_bias: false, inputs: [input, input]}\n";
  const config::Config config = config::parse_config(text, "c.yaml", {});
  const Graph graph =
      build_model(config, {{{"x", DType::kFloat32, {5, 6}}}, {}}, Mode::kPredict, 4);
  Refined refined;
  refined.mesh = refine_mesh(graph, config, make_mesh(config.mesh, 0));
  refined.pinned = pin_layouts(graph, config, refined.mesh);
  return refined;
}

}  // namespace

TEST_CASE("an axis in parts keeps its name, its size and its devices") {
  const Mesh mesh{{"data", "model"}, {2, 6}};
  const Mesh split = split_axis(mesh, 1, {2, 3});
  CHECK(split.names == std::vector<std::string>{"data", "model.0", "model.1"});
  CHECK(split.sizes == std::vector<int>{2, 2, 3});
  CHECK(split.parts_of("model") == std::vector<int>{1, 2});
  CHECK(split.parts_of("data") == std::vector<int>{0});
  CHECK(split.parts_of("modell").empty());
  CHECK(to_string(split) == "data=2,model=6");
  CHECK(split.group(split.parts_of("model"), 7) == mesh.group(std::vector<int>{1}, 7));
  CHECK(to_string(Layout{{{1, 2}, {0}}, {}, {}}, split) == "[model, data]");
  CHECK(to_string(Layout{{{1}, {2, 0}}, {}, {}}, split) == "[model.0, [model.1, data]]");
}

TEST_CASE("heads of keys that are fewer than devices have replicas") {
  const Refined refined = refine(3, 6);
  CHECK(refined.mesh.sizes == std::vector<int>{2, 3, 2});
  CHECK(refined.layout(0) == "[null, model, null]");
  CHECK(refined.layout(1) == "[null, model.0, null]");
  CHECK(refined.layout(2) == "[null, model.0, null]");
  CHECK(refine(2, 8).mesh.sizes == std::vector<int>{2, 2, 4});
}

TEST_CASE("axes stay whole where heads of keys are enough, or no divisor") {
  CHECK(refine(6, 6).mesh.sizes == std::vector<int>{2, 6});
  CHECK(refine(6, 2).mesh.sizes == std::vector<int>{2, 2});
  CHECK(refine(4, 6).mesh.sizes == std::vector<int>{2, 6});
  CHECK(refine(12, 24).mesh.sizes == std::vector<int>{2, 24});  // as many as heads of queries
  CHECK(refine(1, 4).mesh.sizes == std::vector<int>{2, 4});
  CHECK(refine(1, 4).layout(1) == "[null, null, null]");  // a head that all have
}
