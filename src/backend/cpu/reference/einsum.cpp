// y = sum over the factors of x and w that are not in y of x * w: "m k, k n -> m n"
#include "backend/cpu/reference/index.h"
#include "backend/cpu/reference/kernels.h"
#include "backend/equation.h"
#include "base/check.h"
#include "elementwise/all.h"

namespace meshwork::reference {

Launch einsum(const KernelArgs& args) {
  MW_CHECK(args.output.type.dtype == DType::kFloat32);
  const Equation equation = parse_equation(args.attrs.text("equation"), args.inputs[0].type.shape,
                                           args.inputs[1].type.shape);
  // Every factor is a dimension of one loop nest: those of the result first, the summed ones
  // inside.
  std::vector<Factor> kept, summed;
  for (const Factor& factor : equation.factors) {
    (factor.y_stride > 0 ? kept : summed).push_back(factor);
  }
  const auto column = [](const std::vector<Factor>& factors, std::int64_t Factor::*member) {
    Shape result;
    for (const Factor& factor : factors) result.push_back(factor.*member);
    return result;
  };
  return [x = args.inputs[0], w = args.inputs[1], y = args.output, kept, summed, column] {
    using F = Factor;
    const Shape inner = column(summed, &F::extent);
    const Shape x_inner = column(summed, &F::x_stride), w_inner = column(summed, &F::w_stride);
    const Shape x_outer = column(kept, &F::x_stride), w_outer = column(kept, &F::w_stride);
    const Shape y_outer = column(kept, &F::y_stride);
    for_each_index(column(kept, &F::extent), [&](const Shape& place) {
      const float* x_begin = x.as<float>() + offset_of(place, x_outer);
      const float* w_begin = w.as<float>() + offset_of(place, w_outer);
      double sum = 0;
      for_each_index(inner, [&](const Shape& index) {
        sum += static_cast<double>(x_begin[offset_of(index, x_inner)]) *
               w_begin[offset_of(index, w_inner)];
      });
      y.as<float>()[offset_of(place, y_outer)] = static_cast<float>(sum);
    });
  };
}

Launch einsum_bias(const KernelArgs& args) {
  KernelArgs product = args;
  product.inputs.pop_back();
  return [sums = einsum(product), bias = args.inputs[2], y = args.output,
          relu = args.attrs.flag("relu")] {
    sums();
    const std::int64_t count = num_elements(bias.type.shape);
    for (std::int64_t i = 0; i < num_elements(y.type.shape); ++i) {
      float& place = y.as<float>()[i];
      place += bias.as<float>()[i % count];
      if (relu) place = elementwise::Relu::apply(place);
    }
  };
}

}  // namespace meshwork::reference
