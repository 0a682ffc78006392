#include "base/check.h"
#include "ops/ops.h"

namespace meshwork::ops {

ValueId input(GraphBuilder& b, const std::string& name, const TensorType& type) {
  const std::vector<Node>& nodes = b.graph().nodes;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    if (nodes[i].op != &kInput || nodes[i].attrs.text("name") != name) continue;
    MW_CHECK(nodes[i].type == type, "input '{}' is {} and {}", name, to_string(nodes[i].type),
             to_string(type));
    return static_cast<ValueId>(i);
  }
  return b.add(
      kInput, {},
      {{"name", name}, {"dtype", std::string(to_string(type.dtype))}, {"shape", type.shape}});
}

}  // namespace meshwork::ops
