#pragma once

#include <cstddef>
#include <cstdint>

namespace emulated_gpu {

enum class Number { kFloat32, kBFloat16, kFloat16 };

std::int64_t bytes_of(Number number);

/// A matrix in memory: element (i, j) stands at i * row + j * column, elements.
struct Matrix {
  const void* data = nullptr;
  Number number = Number::kFloat32;
  std::int64_t row = 0, column = 0;

  Matrix at(std::int64_t elements) const;  ///< the one that begins so many elements later
};

/// D [m, n] = epilogue(alpha * A [m, k] * B [k, n] + beta * C [m, n] + bias [m]).
struct Product {
  std::int64_t m = 0, n = 0, k = 0;
  float alpha = 1.0F, beta = 0.0F;  ///< C is not read where beta is 0
  Matrix a, b, c, d;
  Matrix bias;  ///< without data: none
  bool relu = false;
  std::int64_t split = 0;  ///< each sum is that of the products before it and of those behind it
  bool tensor_float32 = false;  ///< A and B are rounded to 10 bits of fraction
};

/// In float32; each sum, or each of its two parts, in the order of k.
void multiply(const Product& product);

}  // namespace emulated_gpu
