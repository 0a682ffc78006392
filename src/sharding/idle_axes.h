#pragma once

#include <string>
#include <vector>

#include "sharding/propagate.h"

namespace meshwork {

/// Axes of the configuration, of several devices, along which nothing of the program is split: the
/// devices along them all compute the same.
std::vector<std::string> idle_axes(const LaidOut& program, const Mesh& mesh);

}  // namespace meshwork
