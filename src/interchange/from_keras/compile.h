#pragma once

#include <string>

#include "interchange/keras_json.h"

namespace meshwork::from_keras {

/// The section `compile` of a configuration, from what the model was compiled with; "" if it was
/// not.
std::string compile_text(const Json& model, bool with_metrics);

}  // namespace meshwork::from_keras
