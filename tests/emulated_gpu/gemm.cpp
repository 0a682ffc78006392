#include "emulated_gpu/gemm.h"

#include <vector>

#include "emulated_gpu/narrow_floats.h"

namespace emulated_gpu {
namespace {

/// To the nearest, ties away from zero, as tensor cores' conversions do.
float to_tensor_float32(float value) {
  const auto word = bits<std::uint32_t>(value);
  constexpr std::uint32_t kExponent = 0x7F800000U;
  if ((word & kExponent) == kExponent) return value;  // infinite, or not a number
  return bits<float>((word + 0x1000U) & ~0x1FFFU);
}

float read(const Matrix& matrix, std::int64_t i, std::int64_t j) {
  const std::int64_t place = i * matrix.row + j * matrix.column;
  const auto* const narrow = static_cast<const unsigned short*>(matrix.data);
  switch (matrix.number) {
    case Number::kBFloat16:
      return from_bfloat16(narrow[place]);
    case Number::kFloat16:
      return from_float16(narrow[place]);
    default:
      return static_cast<const float*>(matrix.data)[place];
  }
}

void write(const Matrix& matrix, std::int64_t i, std::int64_t j, float value) {
  const std::int64_t place = i * matrix.row + j * matrix.column;
  void* const data = const_cast<void*>(matrix.data);
  auto* const narrow = static_cast<unsigned short*>(data);
  switch (matrix.number) {
    case Number::kBFloat16:
      narrow[place] = to_bfloat16(value);
      return;
    case Number::kFloat16:
      narrow[place] = to_float16(value);
      return;
    default:
      static_cast<float*>(data)[place] = value;
  }
}

}  // namespace

std::int64_t bytes_of(Number number) { return number == Number::kFloat32 ? 4 : 2; }

Matrix Matrix::at(std::int64_t elements) const {
  Matrix result = *this;
  result.data = static_cast<const std::byte*>(data) + elements * bytes_of(number);
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
  std::vector<float> sums(n), others(n);
  for (std::int64_t i = 0; i < product.m; ++i) {
    sums.assign(n, 0.0F);
    others.assign(n, 0.0F);
    for (std::int64_t k = 0; k < product.k; ++k) {
      const float left = operand(product.a, i, k);
      const float* const right = &rows[static_cast<std::size_t>(k) * n];
      std::vector<float>& part = k < product.split ? sums : others;
      for (std::size_t j = 0; j < n; ++j) part[j] += left * right[j];
    }
    for (std::size_t j = 0; j < n; ++j) sums[j] += others[j];
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
