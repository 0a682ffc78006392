// crossentropy:          y[..] = log sum exp x - x[.., label[..]]
// crossentropy_gradient: dx[.., c] = d (1 where c = label[..], else 0, minus softmax x[.., c])
// 0 for a label that is no class
#include <algorithm>
#include <cmath>
#include <limits>

#include "backend/cpu/reference/kernels.h"
#include "elementwise/comparison.h"

namespace meshwork::reference {
namespace {

struct Line {
  const float* x;
  std::int64_t classes;
  std::int64_t label;

  double max, log_sum;  ///< of x, and of exp(x - max)

  bool is_hit() const { return label >= 0 && label < classes; }

  /// ln of the softmax at `c`.
  double log_share(std::int64_t c) const { return x[c] - max - log_sum; }
};

Line line_of(const TensorView& view, const TensorView& labels, std::int64_t row) {
  const std::int64_t classes = view.type.shape.back();
  const float* x = view.as<float>() + row * classes;
  float max = -std::numeric_limits<float>::infinity();
  for (std::int64_t i = 0; i < classes; ++i) max = elementwise::Maximum::apply(max, x[i]);
  double sum = 0;
  for (std::int64_t i = 0; i < classes; ++i) sum += std::exp(static_cast<double>(x[i]) - max);
  return {x, classes, labels.as<std::int32_t>()[row], max, std::log(sum)};
}

}  // namespace

Launch crossentropy(const KernelArgs& args) {
  return [x = args.inputs[0], labels = args.inputs[1], y = args.output] {
    for (std::int64_t r = 0; r < num_elements(y.type.shape); ++r) {
      const Line line = line_of(x, labels, r);
      y.as<float>()[r] = line.is_hit() ? static_cast<float>(-line.log_share(line.label)) : 0.0F;
    }
  };
}

Launch crossentropy_gradient(const KernelArgs& args) {
  const bool is_number = args.inputs.size() == 2;
  const double number = is_number ? static_cast<float>(args.attrs.real("d")) : 0;
  const float* const column = is_number ? nullptr : args.inputs[2].as<float>();
  return [x = args.inputs[0], labels = args.inputs[1], number, column, y = args.output] {
    std::vector<float> result(static_cast<std::size_t>(x.type.shape.back()));
    for (std::int64_t r = 0; r < num_elements(labels.type.shape); ++r) {
      const Line line = line_of(x, labels, r);
      const double d = column == nullptr ? number : static_cast<double>(column[r]);
      for (std::int64_t c = 0; c < line.classes; ++c) {
        const double target = c == line.label ? 1 : 0;
        const double slope = line.is_hit() ? target - std::exp(line.log_share(c)) : 0;
        result[static_cast<std::size_t>(c)] = static_cast<float>(d * slope);
      }
      std::copy(result.begin(), result.end(), y.as<float>() + r * line.classes);
    }
  };
}

}  // namespace meshwork::reference
