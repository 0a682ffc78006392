#pragma once

#include <concepts>
#include <cstddef>

namespace meshwork {

/// A number that is not negative, as containers take it.
constexpr std::size_t index(std::integral auto number) { return static_cast<std::size_t>(number); }

}  // namespace meshwork
