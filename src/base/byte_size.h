#pragma once

#include <concepts>
#include <string>

namespace meshwork {

/// "407.06 KiB": as Keras writes sizes, with the names that units of 1024 have.
std::string show_bytes(double bytes);
template <std::integral T>
std::string show_bytes(T bytes) {
  return show_bytes(static_cast<double>(bytes));
}

}  // namespace meshwork
