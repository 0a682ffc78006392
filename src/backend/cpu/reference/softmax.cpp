// softmax:     y = exp(x - max x) / sum exp(x - max x) along `axis`
// log_softmax: y = x - max x - log sum exp(x - max x)
#include <cmath>
#include <limits>

#include "backend/cpu/reference/kernels.h"
#include "backend/views.h"
#include "elementwise/comparison.h"

namespace meshwork::reference {
namespace {

/// One line of `extent` elements, `stride` apart; y may be x.
void normalize_line(const float* x, float* y, std::int64_t extent, std::int64_t stride,
                    bool logarithm) {
  float max = -std::numeric_limits<float>::infinity();
  for (std::int64_t i = 0; i < extent; ++i) max = elementwise::Maximum::apply(max, x[i * stride]);
  double sum = 0;
  for (std::int64_t i = 0; i < extent; ++i) {
    sum += std::exp(static_cast<double>(x[i * stride]) - max);
  }
  for (std::int64_t i = 0; i < extent; ++i) {
    const double shifted = static_cast<double>(x[i * stride]) - max;
    const double result = logarithm ? shifted - std::log(sum) : std::exp(shifted) / sum;
    y[i * stride] = static_cast<float>(result);
  }
}

Launch normalize(const KernelArgs& args, bool logarithm) {
  const AxisView view = around_axis(args.output.type.shape, args.attrs.integer("axis"));
  return [x = args.inputs[0], y = args.output, view, logarithm] {
    for (std::int64_t o = 0; o < view.outer; ++o) {
      for (std::int64_t i = 0; i < view.inner; ++i) {
        const std::int64_t begin = o * view.extent * view.inner + i;
        normalize_line(x.as<float>() + begin, y.as<float>() + begin, view.extent, view.inner,
                       logarithm);
      }
    }
  };
}

}  // namespace

Launch softmax(const KernelArgs& args) { return normalize(args, false); }

Launch log_softmax(const KernelArgs& args) { return normalize(args, true); }

}  // namespace meshwork::reference
