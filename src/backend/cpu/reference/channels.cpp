// moments:           y[0, c] = sum of x - shift[c], y[1, c] = sum of its square
// scale_offset:      y = x scale[c] + offset[c]
// scale_offset_sums: y[0, c] = sum of x dy, y[1, c] = sum of dy; c along `axis`
#include <algorithm>

#include "backend/cpu/reference/kernels.h"
#include "backend/cpu/views.h"
#include "base/check.h"

namespace meshwork::reference {
namespace {

/// body(element, channel) for each element of operand 0.
template <class Body>
void for_each_element(const KernelArgs& args, const Body& body) {
  const cpu::AxisView view =
      cpu::around_axis(args.inputs[0].type.shape, args.attrs.integer("axis"));
  for (std::int64_t i = 0; i < view.outer * view.extent * view.inner; ++i) {
    body(i, i / view.inner % view.extent);
  }
}

/// y[0, c] = sum of first(element, channel), y[1, c] = sum of second(element, channel).
template <class First, class Second>
void sum_rows(const KernelArgs& args, const First& first, const Second& second) {
  MW_CHECK(args.output.type.dtype == DType::kFloat32);
  const std::int64_t channels = args.output.type.shape[1];
  std::vector<double> sums(static_cast<std::size_t>(2 * channels), 0);
  for_each_element(args, [&](std::int64_t i, std::int64_t c) {
    sums[static_cast<std::size_t>(c)] += first(i, c);
    sums[static_cast<std::size_t>(channels + c)] += second(i, c);
  });
  std::transform(sums.begin(), sums.end(), args.output.as<float>(),
                 [](double sum) { return static_cast<float>(sum); });
}

}  // namespace

Launch moments(const KernelArgs& args) {
  return [args, x = args.inputs[0].as<float>(), shift = args.inputs[1].as<float>()] {
    const auto shifted = [&](std::int64_t i, std::int64_t c) {
      return static_cast<double>(x[i]) - static_cast<double>(shift[c]);
    };
    sum_rows(args, shifted,
             [&](std::int64_t i, std::int64_t c) { return shifted(i, c) * shifted(i, c); });
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
    sum_rows(
        args,
        [&](std::int64_t i, std::int64_t) {
          return static_cast<double>(x[i]) * static_cast<double>(dy[i]);
        },
        [&](std::int64_t i, std::int64_t) { return static_cast<double>(dy[i]); });
  };
}

}  // namespace meshwork::reference
