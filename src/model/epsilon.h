#pragma once

namespace meshwork {

/// keras.config.epsilon()
constexpr double kEpsilon = 1e-7;

}  // namespace meshwork
