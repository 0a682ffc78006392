#pragma once

#include <initializer_list>
#include <string>
#include <string_view>

#include "backend/cuda/attention/operands.h"

namespace meshwork::cuda::attention {

/// How a kernel is specialized.
struct Variant {
  DType dtype;
  bool on_tensor_cores;  ///< which multiply floats of 16 bits
  std::int64_t width;    ///< of results: columns that a block computes; on tensor cores, up to
                         ///< 128, of all operands
  std::int64_t slices;   ///< blocks beside each other for all columns
  std::int64_t rows;     ///< of queries or keys, that a block computes
};

/// For results of so many columns.
Variant variant_of(const Request& request, std::int64_t columns);

/// Of a kernel whose results have so many rows of each head.
Grid grid_of(const Variant& variant, std::int64_t rows, const Operands& operands);

/// Of a kernel whose own text are `texts`.
Source source_of(std::string name, std::initializer_list<std::string_view> texts,
                 const Variant& variant);

/// 1 if lines of the first `count` operands, those of T, can be read vector by vector.
std::int32_t are_aligned(const Request& request, std::size_t count, const Variant& variant);

}  // namespace meshwork::cuda::attention
