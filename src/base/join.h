#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace meshwork {

/// The parts with `separator` between them. fmt::join does it for ranges of any kind, at the price
/// of some seconds for every file that includes it.
std::string join(std::span<const std::string> parts, std::string_view separator);
std::string join(std::span<const std::string_view> parts, std::string_view separator);
std::string join(std::span<const int> parts, std::string_view separator);
std::string join(std::span<const std::int64_t> parts, std::string_view separator);
std::string join(std::span<const double> parts, std::string_view separator);

}  // namespace meshwork
