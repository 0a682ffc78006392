#pragma once

#include <cstdint>

#include "backend/backend.h"
#include "backend/convert.h"

namespace meshwork::cpu {

/// body(row, expert, place) for each number of `chosen` [rows .., experts] that is not 0, as it
/// lies: it is the `place`-th of its row. Of a row at most the first `most`.
template <class T, class Body>
void for_each_chosen(const T* chosen, std::int64_t rows, std::int64_t experts, std::int64_t most,
                     const Body& body) {
  for (std::int64_t row = 0; row < rows; ++row) {
    std::int64_t place = 0;
    for (std::int64_t e = 0; e < experts && place < most; ++e) {
      if (convert<float>(chosen[row * experts + e]) != 0) body(row, e, place++);
    }
  }
}

}  // namespace meshwork::cpu
