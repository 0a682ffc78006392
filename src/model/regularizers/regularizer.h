#pragma once

#include <functional>
#include <string_view>
#include <vector>

#include "config/config.h"
#include "graph/builder.h"

namespace meshwork {

/// A Keras regularizer with its arguments: what a variable adds to the loss, [] of float32.
using Regularizer = std::function<ValueId(GraphBuilder& b, ValueId variable)>;

/// One regularizer, in the list of registry.cpp: its spellings, CamelCase first, and its arguments.
struct RegularizerDef {
  std::vector<std::string_view> names;
  Regularizer (*read)(config::Reader& args);
};

/// Ends the names of arguments: `kernel_regularizer`.
constexpr std::string_view kRegularizer = "_regularizer";

const std::vector<const RegularizerDef*>& regularizer_registry();

/// Reads `l2`, `L2` or `L2: {l2: 0.001}`.
Regularizer read_regularizer(const config::Value& spec);

namespace regularizers {
extern const RegularizerDef kL1;
extern const RegularizerDef kL1L2;
extern const RegularizerDef kL2;
extern const RegularizerDef kOrthogonal;
}  // namespace regularizers

}  // namespace meshwork
