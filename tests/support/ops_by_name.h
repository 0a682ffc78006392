#pragma once

#include <string_view>

#include "ops/ops.h"
#include "spmd/partition.h"

namespace meshwork::testing {

/// Ops as texts of programs name them, of all stages of the compiler.
inline const OpDef* op_of(std::string_view name) {
  return name == kReshard.name ? &kReshard : ops::find(name);
}

}  // namespace meshwork::testing
