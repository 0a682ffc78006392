// y = gain * Q of A = Q R, A [max(m, n), min(m, n)] standard normal, with the signs of the columns
// of Q chosen so that the diagonal of R is positive; transposed where m < n. All dimensions but the
// last count as m (Keras: Orthogonal; Saxe et al. 2014). Q comes from Householder reflections.
#include <cmath>
#include <vector>

#include "backend/cpu/reference/index.h"
#include "backend/cpu/reference/kernels.h"
#include "base/check.h"
#include "base/rng.h"

namespace meshwork::reference {
namespace {

/// The sum of a[i] * b[i], in eight interleaved sums so that it runs at the speed of memory.
double dot(const double* a, const double* b, std::int64_t count) {
  double sums[8] = {};
  std::int64_t i = 0;
  for (; i + 8 <= count; i += 8) {
    for (std::int64_t lane = 0; lane < 8; ++lane) sums[lane] += a[i + lane] * b[i + lane];
  }
  for (; i < count; ++i) sums[0] += a[i] * b[i];
  return ((sums[0] + sums[1]) + (sums[2] + sums[3])) + ((sums[4] + sums[5]) + (sums[6] + sums[7]));
}

/// x -= 2 v (v . x) for a unit vector v.
void reflect(const double* v, double* x, std::int64_t count) {
  const double factor = 2 * dot(v, x, count);
  for (std::int64_t i = 0; i < count; ++i) x[i] -= factor * v[i];
}

/// Turns the column x into the unit vector v of the reflection that maps x to alpha e_1, where
/// alpha has the sign opposite to x[0]; returns alpha. A zero column gives v = 0: no reflection.
double householder(double* x, std::int64_t count) {
  const double norm = std::sqrt(dot(x, x, count));
  const double alpha = x[0] > 0 ? -norm : norm;
  x[0] -= alpha;
  const double length = std::sqrt(dot(x, x, count));
  for (std::int64_t i = 0; i < count; ++i) x[i] = length > 0 ? x[i] / length : 0;
  return alpha;
}

/// Replaces the `columns` columns of A, each `rows` >= columns long and contiguous, by those of Q.
/// `reflected` is room for as many columns.
void orthonormalize(double* a, double* reflected, std::int64_t rows, std::int64_t columns) {
  std::vector<double> signs;
  for (std::int64_t j = 0; j < columns; ++j) {
    double* v = a + j * rows + j;
    signs.push_back(householder(v, rows - j) < 0 ? -1 : 1);
    for (std::int64_t k = j + 1; k < columns; ++k) reflect(v, a + k * rows + j, rows - j);
  }
  // Column k of Q: the reflections, last first, applied to e_k. Those behind k leave it as it is.
  for (std::int64_t k = 0; k < columns; ++k) {
    double* q = reflected + k * rows;
    for (std::int64_t i = 0; i < rows; ++i) q[i] = 0;
    q[k] = signs[static_cast<std::size_t>(k)];
    for (std::int64_t j = k + 1; j-- > 0;) reflect(a + j * rows + j, q + j, rows - j);
  }
}

struct Matrix {
  std::int64_t m = 1;  ///< all dimensions but the last
  std::int64_t n = 1;
};

Matrix matrix_of(const Shape& shape) {
  MW_CHECK(shape.size() >= 2, "an orthogonal matrix of {}", to_string(shape));
  Matrix matrix{1, shape.back()};
  for (std::size_t d = 0; d + 1 < shape.size(); ++d) matrix.m *= shape[d];
  return matrix;
}

}  // namespace

std::int64_t orthogonal_workspace(const KernelArgs& args) {
  return 2 * num_elements(args.output.region.global) * static_cast<std::int64_t>(sizeof(double));
}

Launch orthogonal(const KernelArgs& args) {
  MW_CHECK(args.output.type.dtype == DType::kFloat32);
  const auto key = static_cast<std::uint64_t>(args.attrs.integer("key"));
  const double gain = args.attrs.real("gain");
  return [y = args.output, key, gain, a = reinterpret_cast<double*>(args.workspace)] {
    const Matrix matrix = matrix_of(y.region.global);
    const std::int64_t rows = std::max(matrix.m, matrix.n);
    const std::int64_t columns = std::min(matrix.m, matrix.n);
    for (std::int64_t i = 0; i < rows; ++i) {
      for (std::int64_t j = 0; j < columns; ++j) {
        a[j * rows + i] = normal_at(key, 0, static_cast<std::uint64_t>(i * columns + j));
      }
    }
    double* q = a + rows * columns;
    orthonormalize(a, q, rows, columns);
    const Shape strides = row_major_strides(y.region.global);
    const std::int64_t begin = offset_of(y.region.offset, strides);
    std::int64_t count = 0;
    for_each_index(y.type.shape, [&](const Shape& index) {
      const std::int64_t place = begin + offset_of(index, strides);
      const std::int64_t i = place / matrix.n, j = place % matrix.n;
      const double value = matrix.m < matrix.n ? q[i * rows + j] : q[j * rows + i];
      y.as<float>()[count++] = static_cast<float>(gain * value);
    });
  };
}

}  // namespace meshwork::reference
