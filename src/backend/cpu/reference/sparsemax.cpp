// y = max(x - tau, 0) along `axis`, with tau such that y sums to 1 (Martins and Astudillo 2016):
// with z = x in falling order and k the last index (from 1) for which 1 + k z_k > z_1 + .. + z_k,
// tau = (z_1 + .. + z_k - 1) / k. A line that holds NaN or infinity is NaN.
#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include "backend/cpu/reference/kernels.h"
#include "backend/cpu/views.h"

namespace meshwork::reference {
namespace {

/// tau of a line that has been sorted in falling order, and is not empty.
double threshold(const float* sorted, std::int64_t extent) {
  double sum = 0;
  double tau = 0;
  for (std::int64_t k = 1; k <= extent; ++k) {
    sum += sorted[k - 1];
    if (1 + static_cast<double>(k) * sorted[k - 1] <= sum) break;
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
  double tau = std::numeric_limits<double>::quiet_NaN();
  if (finite) {
    std::sort(sorted, sorted + extent, std::greater<>());
    tau = threshold(sorted, extent);
  }
  for (std::int64_t i = 0; i < extent; ++i) {
    const auto shifted = static_cast<float>(x[i * stride] - tau);
    y[i * stride] = shifted < 0 ? 0 : shifted;
  }
}

}  // namespace

std::int64_t sparsemax_workspace(const KernelArgs& args) {
  const cpu::AxisView view = cpu::around_axis(args.output.type.shape, args.attrs.integer("axis"));
  return view.extent * static_cast<std::int64_t>(sizeof(float));
}

Launch sparsemax(const KernelArgs& args) {
  const cpu::AxisView view = cpu::around_axis(args.output.type.shape, args.attrs.integer("axis"));
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
