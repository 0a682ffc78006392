#pragma once

#include <map>
#include <string>
#include <vector>

#include "config/value.h"
#include "interchange/keras_json.h"

namespace meshwork::from_keras {

/// One call of a layer, as a list of layers has it.
struct Layer {
  std::string class_name;
  config::Value args;                ///< a map, without `name` and `inputs`
  std::vector<std::string> roles{};  ///< what the layer calls its inputs; none: by their order
};

/// What a call is given: tensors by their names, and what are none.
struct Call {
  std::vector<std::string> inputs;
  std::vector<std::string> roles;                     ///< of those that are arguments by name
  std::vector<std::pair<std::string, Json>> numbers;  ///< arguments that are no tensors; "": the
                                                      ///< next by its place behind the tensors
};

/// The layer of this object of Keras, called so. `precision`: the policy of the model, beside which
/// a layer says its own. Errors say what is not there, not where.
Layer read_layer(const Json& object, const Call& call, const std::string& precision);

/// The key `inputs`: names, or a map by roles, of which several may have the same.
config::Value inputs_value(const std::vector<std::string>& roles,
                           const std::vector<std::string>& names);

/// Whether it is one of Keras's operations, not one of its layers.
bool is_operation(const Json& object);

/// The policy of dtypes that a layer has, "float32" or "mixed_bfloat16"; "" of an operation, which
/// has none.
std::string policy_of(const Json& object);

}  // namespace meshwork::from_keras
