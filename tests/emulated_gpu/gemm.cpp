#include "emulated_gpu/gemm.h"

#include <cstring>
#include <vector>

namespace emulated_gpu {
namespace {

float from_bits(std::uint32_t bits) {
  float value = 0.0F;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

/// To the nearest, ties to even; not a number stays so.
std::uint16_t to_bfloat16(float value) {
  std::uint32_t bits = 0;
  std::memcpy(&bits, &value, sizeof bits);
  if (value != value) return static_cast<std::uint16_t>((bits >> 16U) | 0x40U);
  return static_cast<std::uint16_t>((bits + 0x7FFFU + ((bits >> 16U) & 1U)) >> 16U);
}

/// To the nearest, ties away from zero, as tensor cores' conversions do.
float to_tensor_float32(float value) {
  std::uint32_t bits = 0;
  std::memcpy(&bits, &value, sizeof bits);
  constexpr std::uint32_t kExponent = 0x7F800000U;
  if ((bits & kExponent) == kExponent) return value;  // infinite, or not a number
  return from_bits((bits + 0x1000U) & ~0x1FFFU);
}

float read(const Matrix& matrix, std::int64_t i, std::int64_t j) {
  const std::int64_t place = i * matrix.row + j * matrix.column;
  if (!matrix.bfloat16) return static_cast<const float*>(matrix.data)[place];
  const std::uint32_t bits = static_cast<const std::uint16_t*>(matrix.data)[place];
  return from_bits(bits << 16U);
}

void write(const Matrix& matrix, std::int64_t i, std::int64_t j, float value) {
  const std::int64_t place = i * matrix.row + j * matrix.column;
  void* const data = const_cast<void*>(matrix.data);
  if (matrix.bfloat16) {
    static_cast<std::uint16_t*>(data)[place] = to_bfloat16(value);
  } else {
    static_cast<float*>(data)[place] = value;
  }
}

}  // namespace

Matrix Matrix::at(std::int64_t elements) const {
  Matrix result = *this;
  result.data = static_cast<const std::byte*>(data) + elements * (bfloat16 ? 2 : 4);
  return result;
}

void multiply(const Product& product) {
  const auto operand = [&](const Matrix& matrix, std::int64_t i, std::int64_t j) {
    const float value = read(matrix, i, j);
    return product.tensor_float32 ? to_tensor_float32(value) : value;
  };
  const auto n = static_cast<std::size_t>(product.n);
  // Rows of B lie whole in memory then, and the innermost loop runs along them.
  std::vector<float> rows(static_cast<std::size_t>(product.k) * n);
  for (std::int64_t k = 0; k < product.k; ++k) {
    float* const row = &rows[static_cast<std::size_t>(k) * n];
    for (std::size_t j = 0; j < n; ++j)
      row[j] = operand(product.b, k, static_cast<std::int64_t>(j));
  }
  std::vector<float> sums(n);
  for (std::int64_t i = 0; i < product.m; ++i) {
    sums.assign(n, 0.0F);
    for (std::int64_t k = 0; k < product.k; ++k) {
      const float left = operand(product.a, i, k);
      const float* const right = &rows[static_cast<std::size_t>(k) * n];
      for (std::size_t j = 0; j < n; ++j) sums[j] += left * right[j];
    }
    const float bias = product.bias.data == nullptr ? 0.0F : read(product.bias, i, 0);
    for (std::int64_t j = 0; j < product.n; ++j) {
      float value = product.alpha * sums[static_cast<std::size_t>(j)];
      if (product.beta != 0.0F) value += product.beta * read(product.c, i, j);
      if (product.bias.data != nullptr) value += bias;
      if (product.relu && !(value > 0.0F)) value = 0.0F;
      write(product.d, i, j, value);
    }
  }
}

}  // namespace emulated_gpu
