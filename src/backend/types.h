#pragma once

#include <cstdint>

#include "base/bfloat16.h"
#include "base/check.h"
#include "base/dtype.h"
#include "base/float16.h"

namespace meshwork {

/// body(T{}) with the C++ type of `dtype`, for kernels that do arithmetic: there is none on uint8,
/// and that on floats of 16 bits is done in float32.
template <class Body>
auto with_number(DType dtype, const Body& body) {
  switch (dtype) {
    case DType::kFloat32:
      return body(float{});
    case DType::kInt32:
      return body(std::int32_t{});
    case DType::kInt64:
      return body(std::int64_t{});
    default:
      check_failed(__FILE__, __LINE__, "a dtype to compute with", std::string(to_string(dtype)));
  }
}

/// As with_number, of any dtype of programs.
template <class Body>
auto with_type(DType dtype, const Body& body) {
  switch (dtype) {
    case DType::kUInt8:
      return body(std::uint8_t{});
    case DType::kBFloat16:
      return body(BFloat16{});
    case DType::kFloat16:
      return body(Float16{});
    default:
      return with_number(dtype, body);
  }
}

/// As with_type, of a float of 16 bits.
template <class Body>
auto with_narrow(DType dtype, const Body& body) {
  MW_CHECK(is_narrow_float(dtype), "{}", to_string(dtype));
  return dtype == DType::kBFloat16 ? body(BFloat16{}) : body(Float16{});
}

/// As with_type, of a float of 32 or 16 bits.
template <class Body>
auto with_float(DType dtype, const Body& body) {
  return is_narrow_float(dtype) ? with_narrow(dtype, body) : body(float{});
}

}  // namespace meshwork
