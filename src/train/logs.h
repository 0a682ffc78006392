#pragma once

#include <cmath>
#include <map>
#include <string>

namespace meshwork {

/// Loss and metrics under their names, in alphabetical order: "accuracy", "loss", "val_loss".
using Logs = std::map<std::string, double>;

/// NaN without its sign, which depends on the processor's mood and prints as "-nan".
inline double without_nan_sign(double value) { return std::isnan(value) ? std::abs(value) : value; }

}  // namespace meshwork
