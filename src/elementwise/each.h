#pragma once

#include <array>

#include "elementwise/list.h"

namespace meshwork::elementwise {

/// What `make` gives of each entry of the list, in its order:
///
///     each([]<class Entry>() { return Entry::kTraits.name; })
template <class Make, class... Entries>
constexpr auto each(const Make& make, List<Entries...> /*list*/) {
  return std::array{make.template operator()<Entries>()...};
}
template <class Make>
constexpr auto each(const Make& make) {
  return each(make, All{});
}

}  // namespace meshwork::elementwise
