// Optimizers as a configuration says them.
#pragma once

#include "base/error.h"
#include "config/yaml.h"
#include "optim/optimizer.h"

namespace meshwork::testing {

inline config::ClassSpec optimizer(const std::string& text) {
  return config::read_class(config::parse_yaml(text, "c.yaml"), "optimizer");
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
