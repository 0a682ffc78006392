// y = max(x - tau, 0) along `axis`, with tau such that y sums to 1 (Martins and Astudillo 2016):
// with z = x in falling order and k the last index (from 1) for which 1 + k z_k > z_1 + .. + z_k,
// tau = (z_1 + .. + z_k - 1) / k. A line that holds NaN or infinity is NaN.
#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include "backend/cpu/reference/kernels.h"
#include "backend/views.h"

namespace meshwork::reference {
namespace {

/// tau of x - max, for a line that has been sorted in falling order, and is not empty. Of numbers
/// as large as 1e17 a one would be lost.
double threshold(const float* sorted, std::int64_t extent) {
  double sum = 0;
  double tau = 0;
  for (std::int64_t k = 1; k <= extent; ++k) {
    const double shifted = static_cast<double>(sorted[k - 1]) - sorted[0];
    sum += shifted;
    if (1 + static_cast<double>(k) * shifted <= sum) break;
    tau = (sum - 1) / static_cast<double>(k);
  }
  return tau;
}

void project_line(const float* x, float* y, float* sorted, std::int64_t extent,
                  std::int64_t stride) {
  bool finite = true;
  for (std::int64_t i = 0; i < extent; ++i) {
    sorted[i] = x[i * stride];
    finite = finite && std::isfinite(sorted[i]);
  }
  double max = 0;
  double tau = std::numeric_limits<double>::quiet_NaN();
  if (finite && extent > 0) {
    std::sort(sorted, sorted + extent, std::greater<>());
    max = sorted[0];
    tau = threshold(sorted, extent);
  }
  for (std::int64_t i = 0; i < extent; ++i) {
    const auto shifted = static_cast<float>(x[i * stride] - max - tau);
    y[i * stride] = shifted < 0 ? 0 : shifted;
  }
}

}  // namespace

std::int64_t sparsemax_workspace(const KernelArgs& args) {
  const AxisView view = around_axis(args.output.type.shape, args.attrs.integer("axis"));
  return view.extent * static_cast<std::int64_t>(sizeof(float));
}

Launch sparsemax(const KernelArgs& args) {
  const AxisView view = around_axis(args.output.type.shape, args.attrs.integer("axis"));
  auto* sorted = reinterpret_cast<float*>(args.workspace);
  return [x = args.inputs[0], y = args.output, view, sorted] {
    for (std::int64_t o = 0; o < view.outer; ++o) {
      for (std::int64_t i = 0; i < view.inner; ++i) {
        const std::int64_t begin = o * view.extent * view.inner + i;
        project_line(x.as<float>() + begin, y.as<float>() + begin, sorted, view.extent, view.inner);
      }
    }
  };
}

}  // namespace meshwork::reference
