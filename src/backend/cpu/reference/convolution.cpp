// With i = o * stride - padding + k * dilation, as far as x has it:
//
// convolution:                 y[o, f] = sum over k, c of x[i, c] w[k, c, f]
// convolution_backward_data:   x[i, c] = sum over o, k, f of y[o, f] w[k, c, f]
// convolution_backward_filter: w[k, c, f] = sum over o of x[i, c] y[o, f]
#include <algorithm>

#include "backend/cpu/reference/kernels.h"
#include "backend/cpu/reference/taps.h"
#include "base/check.h"

namespace meshwork::reference {
namespace {

/// All three in one loop: result[..] += a b in double precision, `Term` telling what is what.
template <class Term>
Launch convolve(const TensorView& x, const TensorView& w, const TensorView& y,
                const TensorView& result, const Attrs& attrs, const Term& term) {
  MW_CHECK(result.type.dtype == DType::kFloat32);
  const Shape& kernel = w.type.shape;
  const std::int64_t images = x.type.shape[0], channels = x.type.shape.back();
  const std::int64_t filters = kernel.back(), in = kernel[kernel.size() - 2];
  const std::int64_t out = filters / local_groups(x.type.shape, kernel);
  const auto slides = slides_between(attrs, x, y, Shape(kernel.begin(), kernel.end() - 2));
  return [=] {
    std::vector<double> sums(static_cast<std::size_t>(num_elements(result.type.shape)), 0);
    for_each_tap(images, slides, [&](std::int64_t i, std::int64_t o, std::int64_t k) {
      for (std::int64_t f = 0; f < filters; ++f) {
        for (std::int64_t c = 0; c < in; ++c) {
          term(sums.data(), i * channels + f / out * in + c, (k * in + c) * filters + f,
               o * filters + f);
        }
      }
    });
    std::transform(sums.begin(), sums.end(), result.as<float>(),
                   [](double sum) { return static_cast<float>(sum); });
  };
}

double product(const float* a, std::int64_t i, const float* b, std::int64_t j) {
  return static_cast<double>(a[i]) * static_cast<double>(b[j]);
}

}  // namespace

Launch convolution(const KernelArgs& args) {
  const TensorView &x = args.inputs[0], &w = args.inputs[1], &y = args.output;
  return convolve(
      x, w, y, y, args.attrs,
      [x = x.as<float>(), w = w.as<float>()](double* sums, std::int64_t i, std::int64_t k,
                                             std::int64_t o) { sums[o] += product(x, i, w, k); });
}

Launch convolution_backward_data(const KernelArgs& args) {
  const TensorView &x = args.output, &w = args.inputs[1], &y = args.inputs[0];
  return convolve(
      x, w, y, x, args.attrs,
      [y = y.as<float>(), w = w.as<float>()](double* sums, std::int64_t i, std::int64_t k,
                                             std::int64_t o) { sums[i] += product(y, o, w, k); });
}

Launch convolution_backward_filter(const KernelArgs& args) {
  const TensorView &x = args.inputs[0], &w = args.output, &y = args.inputs[1];
  return convolve(
      x, w, y, w, args.attrs,
      [x = x.as<float>(), y = y.as<float>()](double* sums, std::int64_t i, std::int64_t k,
                                             std::int64_t o) { sums[k] += product(x, i, y, o); });
}

}  // namespace meshwork::reference
