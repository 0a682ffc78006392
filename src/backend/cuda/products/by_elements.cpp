#include "backend/cuda/products/by_elements.h"

#include <algorithm>

#include "backend/cuda/kernel.h"
#include "backend/cuda/walk.h"
#include "backend/einsum_plan.h"

namespace meshwork::cuda::products {
namespace {

/// Matrices of so few rows and columns would fill a quarter of cuBLASLt's smallest tile.
constexpr std::int64_t kTinyMatrix = 16;
constexpr std::int64_t kShortSum = 64;

/// Elements of a row that one thread computes.
constexpr std::int64_t kPart = 4;

// A thread computes elements of a row that are equally far apart: it finds its row once, and
// neighbouring threads touch neighbouring elements.
constexpr char kText[] = R"cuda(
KERNEL(by_elements, R* y, const T* x, const T* w, Walk rows, int64 row_count, Walk summed,
       int64 depth, int64 column_count, int64 x_column, int64 w_column, const R* bias,
       int64 bias_columns) {
  const Index columns = (Index)column_count;
  const Index threads = (columns + PART - 1) / PART;
  FOR_EACH(i, row_count * threads) {
    const Index row = (Index)i / threads;
    const Index first = (Index)i - row * threads;
    const Places begin = places_of(rows, row);
    float sums[PART] = {};
    for (Index k = 0; k < (Index)depth; ++k) {
      const Places at = places_of(summed, k);
      const T* x_row = x + begin.x + at.x;
      const T* w_row = w + begin.w + at.w;
#pragma unroll
      for (int32 part = 0; part < PART; ++part) {
        const Index column = first + part * threads;
        if (column < columns) {
          sums[part] = fmaf(to_float(x_row[column * x_column]),
                            to_float(w_row[column * w_column]), sums[part]);
        }
      }
    }
#pragma unroll
    for (int32 part = 0; part < PART; ++part) {
      const Index column = first + part * threads;
      if (column < columns) {
        const int64 place = (int64)row * columns + column;
        y[place] = from_float<R>(finish(sums[part], bias, bias_columns, place));
      }
    }
  }
}
)cuda";

}  // namespace

bool ByElements::pays(const EinsumPlan& plan) {
  return plan.k == 1 || (plan.m <= kTinyMatrix && plan.n <= kTinyMatrix && plan.k <= kShortSum);
}

Launch ByElements::bind(const KernelArgs& args, const Equation& equation,
                        const Epilogue& epilogue) {
  Walk rows, summed;
  for (const Factor& f : equation.factors) {
    (f.y_stride > 0 ? rows : summed).add(f.extent, f.x_stride, f.w_stride, f.y_stride);
  }
  const std::int64_t depth = summed.size();
  const std::int64_t largest = std::max(rows.size() + kPart, depth);
  // The innermost dimension of y makes its rows.
  std::int64_t columns = 1, x_column = 0, w_column = 0;
  if (rows.rank > 0) {
    const auto last = static_cast<std::size_t>(--rows.rank);
    columns = rows.extent_of(last);
    x_column = rows.x[last];
    w_column = rows.w[last];
  }
  const Source source{"by_elements", std::string(kWalk) + kEpilogue + kText,
                      define("T", args.inputs[0].type.dtype) + define("R", args.output.type.dtype) +
                          define("PART", kPart) + define_index(largest) +
                          define_epilogue(epilogue)};
  const std::int64_t threads = rows.size() * ((columns + kPart - 1) / kPart);
  return launch_over(args, source, threads, args.output.data, args.inputs[0].data,
                     args.inputs[1].data, rows, rows.size(), summed, depth, columns, x_column,
                     w_column, epilogue.bias, epilogue.columns);
}

}  // namespace meshwork::cuda::products
