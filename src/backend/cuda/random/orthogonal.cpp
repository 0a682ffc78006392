// y = gain * Q of A = Q R, A [max(m, n), min(m, n)] standard normal, with the signs of the columns
// of Q chosen so that the diagonal of R is positive; transposed where m < n. All dimensions but the
// last count as m (Keras: Orthogonal; Saxe et al. 2014). Q comes from Householder reflections, in
// double precision, each of which a launch applies to all columns behind it.
#include <algorithm>

#include "backend/cuda/random/generator.h"
#include "backend/cuda/random/kernels.h"
#include "backend/cuda/random/part.h"
#include "backend/cuda/team.h"
#include "backend/in_turn.h"
#include "base/check.h"

namespace meshwork::cuda {
namespace {

constexpr std::string_view kText = R"cuda(
struct Add {
  DEVICE float64 fold(float64 a, float64 b) { return a + b; }
};

// The rows of a thread from `begin` on: the same ones of every column, so that no thread waits for
// what others write.
#define FOR_ROWS(i, begin, rows)                                                       \
  for (int64 i = (begin) / blockDim.x * blockDim.x + threadIdx.x; i < (rows); i += blockDim.x) \
    if (i >= (begin))

// The sum of a[i] b[i] from `begin` on.
DEVICE float64 dot(const float64* a, const float64* b, int64 begin, int64 rows) {
  float64 sum = 0;
  FOR_ROWS(i, begin, rows) sum += a[i] * b[i];
  return fold_neighbours<Add>(neighbours(blockDim.x), sum);
}

// x -= 2 v (v . x) for a unit vector v.
DEVICE void reflect(const float64* v, float64* x, int64 begin, int64 rows) {
  const float64 factor = 2 * dot(v, x, begin, rows);
  FOR_ROWS(i, begin, rows) x[i] -= factor * v[i];
}

// Turns the column x into the unit vector of the reflection that maps x to alpha e_begin, where
// alpha has the sign opposite to x[begin]; *sign is that of alpha. A zero column gives zeros: no
// reflection.
DEVICE void householder(float64* x, float64* sign, int64 begin, int64 rows) {
  const float64 norm = sqrt(dot(x, x, begin, rows));
  __shared__ float64 first;
  if (begin % blockDim.x == threadIdx.x) first = x[begin];
  __syncthreads();
  const float64 alpha = first > 0 ? -norm : norm;
  if (begin % blockDim.x == threadIdx.x) {
    x[begin] -= alpha;
    *sign = alpha < 0 ? -1 : 1;
  }
  const float64 length = sqrt(dot(x, x, begin, rows));
  FOR_ROWS(i, begin, rows) x[i] = length > 0 ? x[i] / length : 0;
}

// a [columns, rows]: the columns of A
KERNEL(draw, float64* a, uint64 key, int64 rows, int64 columns) {
  FOR_EACH(place, rows * columns) {
    const int64 i = place / columns, j = place - i * columns;
    a[j * rows + i] = (float)normal_at(key, 0, place, 0);
  }
}

// Reflects the columns behind `done`, a block each, by column `done`; -1: by none. The first of
// them becomes a reflection.
KERNEL(reflect_columns, float64* a, float64* signs, int64 rows, int64 done) {
  const int64 k = done + 1 + blockIdx.x;
  if (done >= 0) reflect(a + done * rows, a + k * rows, done, rows);
  if (blockIdx.x == 0) householder(a + k * rows, signs + k, k, rows);
}

// Column k of Q: the reflections, last first, of e_k. Those behind k leave it as it is.
KERNEL(reflect_units, float64* q, const float64* a, const float64* signs, int64 rows) {
  const int64 k = blockIdx.x;
  float64* const column = q + k * rows;
  FOR_ROWS(i, 0, rows) column[i] = i == k ? signs[k] : 0;
  for (int64 j = k + 1; j-- > 0;) reflect(a + j * rows, column, j, rows);
}

// The part of Q, or of Q transposed, that a device has. n: columns of the result
KERNEL(store_part, float* y, const float64* q, float64 gain, int64 rows, int64 n, bool transposed,
       Part part) {
  FOR_EACH(at, part.runs * part.length) {
    const int64 run = at / part.length;
    const int64 place = begin_of(part, run) + (at - run * part.length);
    const int64 i = place / n, j = place - i * n;
    y[at] = (float)(gain * (transposed ? q[i * rows + j] : q[j * rows + i]));
  }
}
)cuda";

struct Matrix {
  std::int64_t m;  ///< all dimensions but the last
  std::int64_t n;
  std::int64_t rows() const { return std::max(m, n); }
  std::int64_t columns() const { return std::min(m, n); }
};

Matrix matrix_of(const Shape& shape) {
  MW_CHECK(shape.size() >= 2, "an orthogonal matrix of {}", to_string(shape));
  return {num_elements(Shape(shape.begin(), shape.end() - 1)), shape.back()};
}

/// The columns of A, which become reflections, those of Q, and a sign of each.
struct Scratch {
  double *a, *q, *signs;
};

Scratch scratch_of(const KernelArgs& args, const Matrix& matrix) {
  auto* const a = reinterpret_cast<double*>(args.workspace);
  const std::int64_t elements = matrix.m * matrix.n;
  return {a, a + elements, a + 2 * elements};
}

}  // namespace

std::int64_t orthogonal_workspace(const KernelArgs& args) {
  const Matrix matrix = matrix_of(args.output.region.global);
  const std::int64_t numbers = 2 * matrix.m * matrix.n + matrix.columns();
  return numbers * static_cast<std::int64_t>(sizeof(double));
}

Launch orthogonal(const KernelArgs& args) {
  const TensorView& y = args.output;
  MW_CHECK(y.type.dtype == DType::kFloat32, "an orthogonal matrix of {}", to_string(y.type));
  const std::int64_t elements = num_elements(y.type.shape);
  if (elements == 0) return [] {};
  const Matrix matrix = matrix_of(y.region.global);
  const std::int64_t rows = matrix.rows(), columns = matrix.columns();
  const Scratch scratch = scratch_of(args, matrix);
  const auto key = static_cast<std::uint64_t>(args.attrs.integer("key"));
  std::string text(kGeneratorText);
  text.append(kPartText).append(kTeamText).append(kText);
  const Source source{"orthogonal", text, ""};
  CudaStream& stream = stream_of(args);
  const auto reflected = [&](std::int64_t done) {
    return kernel_launch(stream, source, "reflect_columns", Grid{columns - 1 - done, 256},
                         scratch.a, scratch.signs, rows, done);
  };
  std::vector<Launch> launches{kernel_launch(stream, source, "draw", grid_of(rows * columns),
                                             scratch.a, key, rows, columns)};
  for (std::int64_t done = -1; done + 1 < columns; ++done) launches.push_back(reflected(done));
  launches.push_back(kernel_launch(stream, source, "reflect_units", Grid{columns, 256}, scratch.q,
                                   scratch.a, scratch.signs, rows));
  launches.push_back(kernel_launch(stream, source, "store_part", grid_of(elements), y.data,
                                   scratch.q, args.attrs.real("gain"), rows, matrix.n,
                                   matrix.m < matrix.n, part_runs(y.type.shape, y.region)));
  return in_turn(std::move(launches));
}

}  // namespace meshwork::cuda
