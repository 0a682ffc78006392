#pragma once

#include "model/layers/layer.h"

namespace meshwork::layers {

/// An Error unless samples are [.., steps, features].
void check_steps(const config::Reader& args, const Shape& shape);

}  // namespace meshwork::layers
