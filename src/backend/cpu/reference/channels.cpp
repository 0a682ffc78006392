// c along `axis`:
//
// shifted_sums:      y[0, c] = sum of x, y[1, c] = sum of x - shift[c], y[2, c] = sum of its square
// channel_moments:   the same, of the shift y[3, c] = factor times the sum of x
// scale_offset:      y = x scale[c] + offset[c]
// scale_offset_sums: y[0, c] = sum of x dy, y[1, c] = sum of dy
#include <algorithm>
#include <array>

#include "backend/cpu/reference/kernels.h"
#include "backend/views.h"
#include "base/check.h"

namespace meshwork::reference {
namespace {

/// body(element, channel) for each element of operand 0.
template <class Body>
void for_each_element(const KernelArgs& args, const Body& body) {
  const AxisView view = around_axis(args.inputs[0].type.shape, args.attrs.integer("axis"));
  for (std::int64_t i = 0; i < view.outer * view.extent * view.inner; ++i) {
    body(i, i / view.inner % view.extent);
  }
}

/// y[k, c] = sum of terms(element, channel)[k]: the first rows of y.
template <class Terms>
void sum_rows(const KernelArgs& args, const Terms& terms) {
  MW_CHECK(args.output.type.dtype == DType::kFloat32);
  const std::int64_t channels = args.output.type.shape[1];
  using Row = decltype(terms(0, 0));
  std::vector<double> sums(std::tuple_size_v<Row> * static_cast<std::size_t>(channels), 0);
  for_each_element(args, [&](std::int64_t i, std::int64_t c) {
    for (const double term : terms(i, c)) {
      sums[static_cast<std::size_t>(c)] += term;
      c += channels;
    }
  });
  std::transform(sums.begin(), sums.end(), args.output.as<float>(),
                 [](double sum) { return static_cast<float>(sum); });
}

}  // namespace

Launch shifted_sums(const KernelArgs& args) {
  return [args, x = args.inputs[0].as<float>(), shift = args.inputs[1].as<float>()] {
    sum_rows(args, [&](std::int64_t i, std::int64_t c) {
      const auto value = static_cast<double>(x[i]);
      const double shifted = value - static_cast<double>(shift[c]);
      return std::array{value, shifted, shifted * shifted};
    });
  };
}

Launch channel_moments(const KernelArgs& args) {
  return [args, x = args.inputs[0].as<float>(), y = args.output.as<float>(),
          factor = args.attrs.real("factor")] {
    const std::int64_t channels = args.output.type.shape[1];
    std::vector<double> sums(static_cast<std::size_t>(channels), 0);
    for_each_element(args, [&](std::int64_t i, std::int64_t c) {
      sums[static_cast<std::size_t>(c)] += static_cast<double>(x[i]);
    });
    float* const shift = y + 3 * channels;
    std::transform(sums.begin(), sums.end(), shift,
                   [&](double sum) { return static_cast<float>(factor * sum); });
    sum_rows(args, [&](std::int64_t i, std::int64_t c) {
      const auto value = static_cast<double>(x[i]);
      const double shifted = value - static_cast<double>(shift[c]);
      return std::array{value, shifted, shifted * shifted};
    });
  };
}

Launch scale_offset(const KernelArgs& args) {
  return [args, x = args.inputs[0].as<float>(), scale = args.inputs[1].as<float>(),
          offset = args.inputs[2].as<float>(), y = args.output.as<float>()] {
    for_each_element(args, [&](std::int64_t i, std::int64_t c) {
      y[i] = static_cast<float>(static_cast<double>(x[i]) * static_cast<double>(scale[c]) +
                                static_cast<double>(offset[c]));
    });
  };
}

Launch scale_offset_sums(const KernelArgs& args) {
  return [args, x = args.inputs[0].as<float>(), dy = args.inputs[1].as<float>()] {
    sum_rows(args, [&](std::int64_t i, std::int64_t) {
      const auto gradient = static_cast<double>(dy[i]);
      return std::array{static_cast<double>(x[i]) * gradient, gradient};
    });
  };
}

}  // namespace meshwork::reference
