#pragma once

#include <string>

#include "interchange/keras_json.h"

namespace meshwork::from_keras {

/// What Keras has written of a model: of a `.keras` file, or the text of `model.to_json()`. Its
/// keys stand in their order.
Json read_model(const std::string& file);

}  // namespace meshwork::from_keras
