#pragma once

#include <optional>

#include "base/shape.h"
#include "interchange/from_keras/layer.h"

namespace meshwork::from_keras {

/// The layer, Reshape or Permute, that does what an operation of Keras does that only gives
/// elements another place: Reshape, ExpandDims, Squeeze, Transpose, Swapaxes, Moveaxis. nullopt for
/// others. `input`: its shape, the batch included. An Error where the batch would not stay the
/// first dimension.
std::optional<Layer> as_movement(const Json& operation, const Shape& input);

}  // namespace meshwork::from_keras
