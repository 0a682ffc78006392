#include "base/check.h"
#include "ops/ops.h"

namespace meshwork::ops {

ValueId input(GraphBuilder& b, const std::string& name, const TensorType& type) {
  if (const ValueId known = input_value(b.graph(), name); known != kNoValue) {
    MW_CHECK(b.type(known) == type, "input '{}' is {} and {}", name, to_string(b.type(known)),
             to_string(type));
    return known;
  }
  return b.add(
      kInput, {},
      {{"name", name}, {"dtype", std::string(to_string(type.dtype))}, {"shape", type.shape}});
}

}  // namespace meshwork::ops
