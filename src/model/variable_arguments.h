#pragma once

#include <map>
#include <set>
#include <string>

#include "config/config.h"
#include "model/constraints/constraint.h"
#include "model/regularizers/regularizer.h"

namespace meshwork {

/// The arguments of a layer that are for its variables, by these: "kernel" of `kernel_regularizer`.
struct VariableArguments {
  std::map<std::string, Regularizer> regularizers;
  std::map<std::string, Constraint> constraints;
};

/// The key for what a layer gives, which is for no variable.
constexpr std::string_view kActivityRegularizer = "activity_regularizer";

/// Reads those among `given`, the arguments of `args`.
VariableArguments read_variable_arguments(const config::Value& given, config::Reader& args);

/// Each of them must be for a variable that the layer has, or would have: `used` names them,
/// "kernel_regularizer".
void check_used(const config::Reader& args, const VariableArguments& arguments,
                const std::set<std::string>& used);

}  // namespace meshwork
