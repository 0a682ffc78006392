#include "base/byte_size.h"

#include <fmt/format.h>

#include <array>
#include <string_view>

namespace meshwork {

std::string show_bytes(double bytes) {
  constexpr std::array<std::string_view, 6> kUnits{"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
  std::size_t unit = 0;
  for (; bytes >= 1024 && unit + 1 < kUnits.size(); ++unit) bytes /= 1024;
  return fmt::format("{:.2f} {}", bytes, kUnits[unit]);
}

}  // namespace meshwork
