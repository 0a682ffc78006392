#pragma once

#include <cstddef>
#include <cstdint>

#include "base/dtype.h"

namespace meshwork::data {

/// A stored number: its type, and whether its bytes, of which it has several, stand in the order
/// foreign to this machine.
struct Element {
  DType type = DType::kUInt8;
  bool swapped = false;
  bool operator==(const Element&) const = default;
};

/// Turns the bytes of `count` numbers round where they stand in the foreign order.
void to_native(Element element, std::int64_t count, std::byte* data);

}  // namespace meshwork::data
