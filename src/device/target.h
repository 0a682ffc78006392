#pragma once

#include <cstdint>
#include <string>

namespace meshwork {

/// What the compiler may know of a device, as plain data that the device's backend fills in.
struct Target {
  std::string name = "cpu";
  int threads = 1;              ///< that compute one kernel together
  std::int64_t alignment = 64;  ///< bytes: values in device memory begin at multiples of it
};

}  // namespace meshwork
