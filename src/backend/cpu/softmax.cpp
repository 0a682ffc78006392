// softmax:     y = exp(x - max x) / sum exp(x - max x) along `axis`
// log_softmax: y = x - max x - log sum exp(x - max x)
#include <algorithm>

#include "backend/cpu/kernels.h"
#include "backend/cpu/reference/kernels.h"
#include "backend/cpu/simd.h"
#include "backend/cpu/softmax_lines.h"
#include "backend/views.h"
#include "base/parallel.h"
#include "base/rounded_up.h"
#include "elementwise/arithmetic.h"

namespace meshwork::cpu {
namespace {

/// `rows` lines of `extent` contiguous elements. Short lines share the vectors of exp.
struct SoftmaxLoop {
  [[gnu::always_inline]] static void run(const float* x, float* y, std::int64_t rows,
                                         std::int64_t extent) {
    for (std::int64_t r = 0; r < rows; ++r) subtract_max(x + r * extent, y + r * extent, extent);
    exponentiate(y, y, rows * extent);
    for (std::int64_t r = 0; r < rows; ++r) {
      float* line = y + r * extent;
      const float inverse = 1.0F / fold_lanes<elementwise::Add>(line, extent);
#pragma omp simd
      for (std::int64_t i = 0; i < extent; ++i) line[i] *= inverse;
    }
  }
};

struct LogSoftmaxLoop {
  [[gnu::always_inline]] static void run(const float* x, float* y, std::int64_t rows,
                                         std::int64_t extent) {
    for (std::int64_t r = 0; r < rows; ++r) subtract_max(x + r * extent, y + r * extent, extent);
    float exponentials[kCached];
    const std::int64_t together = std::min(rows * extent, kCached);
    exponentiate(y, exponentials, together);
    for (std::int64_t r = 0; r < rows; ++r) {
      float* line = y + r * extent;
      // More than one line only if all fit.
      float sum =
          fold_lanes<elementwise::Add>(exponentials + r * extent, std::min(extent, together));
      for (std::int64_t begin = kCached; begin < extent; begin += kCached) {
        const std::int64_t count = std::min(kCached, extent - begin);
        exponentiate(line + begin, exponentials, count);
        sum += fold_lanes<elementwise::Add>(exponentials, count);
      }
      const float log = elementwise::Log::apply(sum);
#pragma omp simd
      for (std::int64_t i = 0; i < extent; ++i) line[i] -= log;
    }
  }
};

/// `strided`: the kernel for lines that are not contiguous.
template <class Loop>
Launch normalize(const KernelArgs& args, Launch (*strided)(const KernelArgs&)) {
  const AxisView view = around_axis(args.output.type.shape, args.attrs.integer("axis"));
  if (view.inner != 1) return strided(args);
  if (view.extent == 0 || view.outer == 0) return [] {};
  const std::int64_t group = std::max<std::int64_t>(1, kCached / view.extent);
  return [x = args.inputs[0].as<float>(), y = args.output.as<float>(), view, group,
          run = vectorized<Loop>()] {
    for_each_task(ceil_divide(view.outer, group), view.outer * view.extent, [&](std::int64_t task) {
      const std::int64_t begin = task * group;
      run(x + begin * view.extent, y + begin * view.extent, std::min(group, view.outer - begin),
          view.extent);
    });
  };
}

}  // namespace

Launch softmax(const KernelArgs& args) { return normalize<SoftmaxLoop>(args, reference::softmax); }

Launch log_softmax(const KernelArgs& args) {
  return normalize<LogSoftmaxLoop>(args, reference::log_softmax);
}

}  // namespace meshwork::cpu
