#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/dtype.h"

namespace meshwork::data {

/// Types in which files store numbers.
enum class Stored {
  kUInt8,
  kInt8,
  kUInt16,
  kInt16,
  kUInt32,
  kInt32,
  kUInt64,
  kInt64,
  kFloat16,
  kFloat32,
  kFloat64,
};

/// A stored number: its type, and whether its bytes stand in the order foreign to this machine.
struct Element {
  Stored type = Stored::kUInt8;
  bool swapped = false;
  bool operator==(const Element&) const = default;
};

/// "uint8", "float16".
std::string_view name_of(Stored type);
std::size_t size_of(Stored type);
bool is_integer(Stored type);

/// How stored numbers become those of training: value = raw * scale + offset, computed in double
/// and rounded once. So scale 1/255 gives the very bits of numpy's x.astype("float32") / 255.
struct Conversion {
  DType dtype = DType::kFloat32;  ///< kFloat32 or kInt32
  double scale = 1.0;
  double offset = 0.0;
};

/// Converts `count` neighbouring elements from `raw` (any alignment) to `out`. Returns how many
/// went well: less than `count` where element number [result] is no whole number (to 1e-6 of it)
/// that int32 can hold.
std::int64_t convert(const std::byte* raw, Element element, std::int64_t count,
                     const Conversion& conversion, void* out);

/// One element, before scale and offset.
double value_at(const std::byte* raw, Element element);

}  // namespace meshwork::data
