// sum_pool:       y[o] = sum over k of x[o * stride - padding + k], as far as x has it
// sum_pool_input: x[i] = sum of y[o] over the windows that read i
// max_pool:       y[o] = the greatest x of its window; NaN if there is one, -inf of none
// max_pool_input: dx[i] = sum of dy[o] over the windows whose first greatest x is i
#include <algorithm>
#include <limits>

#include "backend/cpu/reference/kernels.h"
#include "backend/cpu/reference/taps.h"
#include "base/check.h"
#include "elementwise/comparison.h"

namespace meshwork::reference {
namespace {

std::vector<Slide> slides_of(const KernelArgs& args, const TensorView& x, const TensorView& y) {
  MW_CHECK(args.output.type.dtype == DType::kFloat32);
  return slides_between(args.attrs, x, y, args.attrs.integers("window"));
}

/// to[..] += from[..] for all that a window reads; `forward`: from x to y.
Launch sum(const KernelArgs& args, bool forward) {
  const TensorView &from = args.inputs[0], &to = args.output;
  const auto slides = slides_of(args, forward ? from : to, forward ? to : from);
  return [from, to, slides, forward] {
    const std::int64_t channels = from.type.shape.back();
    std::vector<double> sums(static_cast<std::size_t>(num_elements(to.type.shape)), 0);
    for_each_tap(from.type.shape[0], slides, [&](std::int64_t i, std::int64_t o, std::int64_t) {
      double* sum = sums.data() + (forward ? o : i) * channels;
      const float* element = from.as<float>() + (forward ? i : o) * channels;
      for (std::int64_t c = 0; c < channels; ++c) sum[c] += static_cast<double>(element[c]);
    });
    std::transform(sums.begin(), sums.end(), to.as<float>(),
                   [](double sum) { return static_cast<float>(sum); });
  };
}

/// Where the element of x at `place` lies in dx, another part of the same tensor; -1 if elsewhere.
std::int64_t place_in(const TensorView& dx, const TensorView& x, std::int64_t place) {
  const Shape from = row_major_strides(x.type.shape), to = row_major_strides(dx.type.shape);
  std::int64_t result = 0;
  for (std::size_t d = 0; d < from.size(); ++d) {
    const std::int64_t i =
        place / from[d] % x.type.shape[d] + x.region.offset[d] - dx.region.offset[d];
    if (i < 0 || i >= dx.type.shape[d]) return -1;
    result += i * to[d];
  }
  return result;
}

}  // namespace

Launch sum_pool(const KernelArgs& args) { return sum(args, true); }

Launch sum_pool_input(const KernelArgs& args) { return sum(args, false); }

Launch max_pool(const KernelArgs& args) {
  const TensorView &x = args.inputs[0], &y = args.output;
  return [x, y, slides = slides_of(args, x, y)] {
    const std::int64_t channels = x.type.shape.back();
    std::fill_n(y.as<float>(), num_elements(y.type.shape), -std::numeric_limits<float>::infinity());
    for_each_tap(x.type.shape[0], slides, [&](std::int64_t i, std::int64_t o, std::int64_t) {
      for (std::int64_t c = 0; c < channels; ++c) {
        float& max = y.as<float>()[o * channels + c];
        max = elementwise::Maximum::apply(max, x.as<float>()[i * channels + c]);
      }
    });
  };
}

Launch max_pool_input(const KernelArgs& args) {
  const TensorView &x = args.inputs[0], &dy = args.inputs[1], &dx = args.output;
  return [x, dy, dx, slides = slides_of(args, x, dy)] {
    const std::int64_t channels = x.type.shape.back();
    const float* values = x.as<float>();
    std::vector<std::int64_t> first(static_cast<std::size_t>(num_elements(dy.type.shape)), -1);
    for_each_tap(x.type.shape[0], slides, [&](std::int64_t i, std::int64_t o, std::int64_t) {
      for (std::int64_t c = 0; c < channels; ++c) {
        std::int64_t& best = first[static_cast<std::size_t>(o * channels + c)];
        const float value = values[i * channels + c];
        const bool greater =
            best < 0 || value > values[best] || (value != value && values[best] == values[best]);
        if (greater) best = i * channels + c;
      }
    });
    std::vector<double> sums(static_cast<std::size_t>(num_elements(dx.type.shape)), 0);
    for (std::size_t o = 0; o < first.size(); ++o) {
      const std::int64_t place = first[o] < 0 ? -1 : place_in(dx, x, first[o]);
      if (place >= 0) {
        sums[static_cast<std::size_t>(place)] += static_cast<double>(dy.as<float>()[o]);
      }
    }
    std::transform(sums.begin(), sums.end(), dx.as<float>(),
                   [](double sum) { return static_cast<float>(sum); });
  };
}

}  // namespace meshwork::reference
