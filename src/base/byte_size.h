#pragma once

#include <string>

namespace meshwork {

/// "407.06 KiB": as Keras writes sizes, with the names that units of 1024 have.
std::string show_bytes(double bytes);

}  // namespace meshwork
