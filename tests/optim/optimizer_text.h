// Optimizers as a configuration says them, and weights for them.
#pragma once

#include "base/error.h"
#include "config/yaml.h"
#include "ops/ops.h"
#include "optim/optimizer.h"

namespace meshwork::testing {

inline config::ClassSpec optimizer(const std::string& text) {
  return config::read_class(config::parse_yaml(text, "c.yaml"), "optimizer");
}

/// A trained float32 variable, 0 at first.
inline void add_weight(GraphBuilder& b, const std::string& path, const Shape& shape) {
  const ValueId value =
      b.add(ops::kVariable, {}, {{"path", path}, {"dtype", "float32"}, {"shape", shape}});
  b.graph().variables.push_back({.value = value,
                                 .path = path,
                                 .trainable = true,
                                 .slot_of = {},
                                 .init = &ops::kConstant,
                                 .init_attrs = {{"value", 0.0}, {"shape", shape}}});
}

/// What is said against it; empty: nothing.
inline std::string error_of(const std::string& text) {
  try {
    check_optimizer(optimizer(text));
  } catch (const Error& error) {
    return error.what();
  }
  return {};
}

}  // namespace meshwork::testing
