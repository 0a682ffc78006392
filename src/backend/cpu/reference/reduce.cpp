// y = the sum, the sum of squares or the maximum of x over `axes`; 0 or -inf (for whole numbers:
// the least) of nothing
#include <algorithm>
#include <limits>

#include "backend/cpu/reference/index.h"
#include "backend/cpu/reference/kernels.h"
#include "backend/types.h"
#include "elementwise/arithmetic.h"
#include "elementwise/comparison.h"

namespace meshwork::reference {
namespace {

/// Strides of the result along the dimensions of the operand: 0 along those that are reduced.
Shape result_strides(const Shape& shape, const std::vector<std::int64_t>& axes) {
  Shape strides(shape.size(), 0);
  std::int64_t stride = 1;
  for (std::size_t d = shape.size(); d-- > 0;) {
    if (std::find(axes.begin(), axes.end(), static_cast<std::int64_t>(d)) != axes.end()) continue;
    strides[d] = stride;
    stride *= shape[d];
  }
  return strides;
}

/// Folds x into y with Op, beginning at `start`; Wide is the type that adds up, and From what x is
/// read as.
template <class Op, class T, class Wide, class From = T>
void fold(const KernelArgs& args, Wide start) {
  const Shape& shape = args.inputs[0].type.shape;
  const Shape strides = result_strides(shape, args.attrs.integers("axes"));
  std::vector<Wide> folded(static_cast<std::size_t>(num_elements(args.output.type.shape)), start);
  std::int64_t i = 0;
  for_each_index(shape, [&](const Shape& index) {
    Wide& y = folded[static_cast<std::size_t>(offset_of(index, strides))];
    y = Op::apply(y, static_cast<Wide>(args.inputs[0].as<From>()[i++]));
  });
  std::transform(folded.begin(), folded.end(), args.output.as<T>(),
                 [](Wide y) { return static_cast<T>(y); });
}

struct AddDouble {
  static double apply(double a, double b) { return a + b; }
};

struct Squared {
  explicit operator double() const { return elementwise::Square::apply(x); }
  float x;
};

}  // namespace

Launch reduce_sum(const KernelArgs& args) {
  return [args] {
    if (args.output.type.dtype == DType::kFloat32) return fold<AddDouble, float, double>(args, 0);
    with_number(args.output.type.dtype,
                [&](auto number) { fold<elementwise::Add, decltype(number)>(args, number); });
  };
}

Launch scaled_sum(const KernelArgs& args) {
  return [args] {
    fold<AddDouble, float, double>(args, 0);
    const auto factor = static_cast<float>(args.attrs.real("factor"));
    float* const y = args.output.as<float>();
    std::transform(y, y + num_elements(args.output.type.shape), y,
                   [&](float sum) { return sum * factor; });
  };
}

Launch sum_of_squares(const KernelArgs& args) {
  return [args] { fold<AddDouble, float, double, Squared>(args, 0); };
}

Launch reduce_max(const KernelArgs& args) {
  return [args] {
    with_number(args.output.type.dtype, [&](auto number) {
      using T = decltype(number);
      using Limits = std::numeric_limits<T>;
      fold<elementwise::Maximum, T>(args,
                                    Limits::has_infinity ? -Limits::infinity() : Limits::lowest());
    });
  };
}

}  // namespace meshwork::reference
