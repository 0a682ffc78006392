#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace meshwork {

/// Types of elements. Programs compute with float32, bfloat16, float16, int32, int64 and uint8; in
/// the others data are stored, until an op converts them.
enum class DType {
  kFloat32,
  kInt32,
  kInt64,
  kUInt8,
  kBFloat16,
  kInt8,
  kUInt16,
  kInt16,
  kUInt32,
  kUInt64,
  kFloat16,
  kFloat64,
};

/// "float32", "int32", "bfloat16".
std::string_view to_string(DType dtype);

/// Inverse of to_string; throws Error for an unknown name.
DType dtype_from_string(std::string_view name);

/// Bytes of one element.
constexpr std::size_t size_of(DType dtype) {
  switch (dtype) {
    case DType::kUInt8:
    case DType::kInt8:
      return 1;
    case DType::kBFloat16:
    case DType::kFloat16:
    case DType::kInt16:
    case DType::kUInt16:
      return 2;
    case DType::kFloat32:
    case DType::kInt32:
    case DType::kUInt32:
      return 4;
    case DType::kFloat64:
    case DType::kInt64:
    case DType::kUInt64:
      return 8;
  }
  return 0;
}

/// Whether numbers are floats of 16 bits, bfloat16 or float16: they are stored and moved as such,
/// and computed with in float32.
bool is_narrow_float(DType dtype);

/// The dtype in which numbers are added up before the sum is rounded: float32 for floats of 16
/// bits.
DType sum_dtype(DType dtype);

/// Whether a dtype holds fractions.
bool is_floating(DType dtype);

}  // namespace meshwork
