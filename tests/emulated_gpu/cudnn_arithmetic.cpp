#include "emulated_gpu/cudnn_arithmetic.h"

#include <algorithm>
#include <cmath>

#include "emulated_gpu/cudnn_numbers.h"

namespace emulated_gpu::cudnn {
namespace {

using Numbers = std::vector<float>;
using Integers = std::vector<std::int64_t>;

std::size_t place(std::int64_t place) { return static_cast<std::size_t>(place); }

Numbers empty(const Tensor& tensor) { return Numbers(place(tensor.span())); }

/// Strides by which a tensor is read for one with more elements along dims of 1.
Integers broadcast(const Tensor& tensor) {
  Integers strides = tensor.strides;
  for (std::size_t d = 0; d < strides.size(); ++d) {
    if (tensor.dims[d] == 1) strides[d] = 0;
  }
  return strides;
}

/// One matrix of many, its lines one after the other, as tensor cores take it.
Numbers matrix(const Operand& operand, std::int64_t batch, std::int64_t head,
               const Precision& precision) {
  const Tensor& tensor = operand.tensor;
  const Integers &dims = tensor.dims, &strides = tensor.strides;
  const std::int64_t first = batch * strides[0] + head * strides[1];
  Numbers lines;
  lines.reserve(place(dims[2] * dims[3]));
  for (std::int64_t i = 0; i < dims[2]; ++i) {
    for (std::int64_t j = 0; j < dims[3]; ++j) {
      const float value = operand.numbers[place(first + i * strides[2] + j * strides[3])];
      lines.push_back(rounded(rounded(value, precision.type), precision.mantissa));
    }
  }
  return lines;
}

/// [m, k] x [k, n] -> [m, n].
Numbers product(const Numbers& a, const Numbers& b, std::int64_t m, std::int64_t k,
                std::int64_t n) {
  Numbers sums(place(m * n));
  for (std::int64_t i = 0; i < m; ++i) {
    float* const line = &sums[place(i * n)];
    for (std::int64_t j = 0; j < k; ++j) {
      const float factor = a[place(i * k + j)];
      const float* const others = &b[place(j * n)];
      for (std::int64_t c = 0; c < n; ++c) line[c] += factor * others[c];
    }
  }
  return sums;
}

/// Heads of a that follow each other share one of b.
Numbers multiply(const Operand& a, const Operand& b, const Tensor& to, const Precision& precision) {
  const Integers &dims = to.dims, &strides = to.strides;
  const std::int64_t shared = dims[1] / b.tensor.dims[1];
  Numbers result = empty(to);
  for (std::int64_t batch = 0; batch < dims[0]; ++batch) {
    for (std::int64_t head = 0; head < dims[1]; ++head) {
      const Numbers sums =
          product(matrix(a, batch, head, precision), matrix(b, batch, head / shared, precision),
                  dims[2], a.tensor.dims[3], dims[3]);
      const std::int64_t first = batch * strides[0] + head * strides[1];
      for (std::int64_t i = 0; i < dims[2]; ++i) {
        for (std::int64_t j = 0; j < dims[3]; ++j) {
          result[place(first + i * strides[2] + j * strides[3])] =
              rounded(sums[place(i * dims[3] + j)], to.type);
        }
      }
    }
  }
  return result;
}

float computed(cudnnPointwiseMode_t mode, float x, float b, float t) {
  switch (mode) {
    case CUDNN_POINTWISE_ADD:
      return x + b;
    case CUDNN_POINTWISE_SUB:
      return x - b;
    case CUDNN_POINTWISE_MUL:
      return x * b;
    case CUDNN_POINTWISE_DIV:
      return x / b;
    case CUDNN_POINTWISE_EXP:
      return std::exp(x);
    case CUDNN_POINTWISE_LOG:
      return std::log(x);
    case CUDNN_POINTWISE_CMP_GE:
      return x >= b ? 1.0F : 0.0F;
    case CUDNN_POINTWISE_BINARY_SELECT:
      return t != 0.0F ? x : b;
    default:
      return x;
  }
}

/// Element by element of x; b and t repeat along dims of 1.
Numbers compute_each(cudnnPointwiseMode_t mode, const std::vector<Operand>& from,
                     const Tensor& to) {
  const Operand& x = from[0];
  const Operand& b = from.size() > 1 ? from[1] : x;
  const Operand& t = from.size() > 2 ? from[2] : x;
  Numbers result = empty(to);
  for_each<4>(to.dims, {to.strides, broadcast(x.tensor), broadcast(b.tensor), broadcast(t.tensor)},
              [&](const auto&, const auto& places) {
                const float value =
                    computed(mode, x.numbers[place(places[1])], b.numbers[place(places[2])],
                             t.numbers[place(places[3])]);
                result[place(places[0])] = rounded(value, to.type);
              });
  return result;
}

/// Of every element its number along the axis.
Numbers indices(std::int64_t axis, const Tensor& to) {
  Numbers result = empty(to);
  for_each<1>(to.dims, {to.strides}, [&](const auto& index, const auto& places) {
    result[place(places[0])] = static_cast<float>(index[place(axis)]);
  });
  return result;
}

/// Along dims that are 1 afterwards.
Numbers reduce(cudnnReduceTensorOp_t how, const Operand& x, const Tensor& to) {
  const bool adds = how == CUDNN_REDUCE_TENSOR_ADD;
  Numbers result = empty(to);
  std::fill(result.begin(), result.end(), adds ? 0.0F : -HUGE_VALF);
  for_each<2>(x.tensor.dims, {x.tensor.strides, broadcast(to)},
              [&](const auto&, const auto& places) {
                const float value = x.numbers[place(places[0])];
                float& sum = result[place(places[1])];
                sum = adds ? sum + value : std::fmax(sum, value);
              });
  for (float& value : result) value = rounded(value, to.type);
  return result;
}

/// The same memory, whose elements have other indices.
Numbers reshape(const Operand& x, const Tensor& to) {
  Numbers result = empty(to);
  const std::size_t shared = std::min(result.size(), x.numbers.size());
  for (std::size_t i = 0; i < shared; ++i) result[i] = rounded(x.numbers[i], to.type);
  return result;
}

}  // namespace

std::vector<float> apply(const Operation& operation, const std::vector<Operand>& from,
                         const Tensor& to, const Precision& precision) {
  switch (operation.kind) {
    case Operation::Kind::kProduct:
      return multiply(from[0], from[1], to, precision);
    case Operation::Kind::kReduction:
      return reduce(static_cast<cudnnReduceTensorOp_t>(operation.mode), from[0], to);
    case Operation::Kind::kReshape:
      return reshape(from[0], to);
    case Operation::Kind::kPointwise:
      break;
  }
  const auto mode = static_cast<cudnnPointwiseMode_t>(operation.mode);
  if (mode == CUDNN_POINTWISE_GEN_INDEX) return indices(operation.axis, to);
  return compute_each(mode, from, to);
}

}  // namespace emulated_gpu::cudnn
