#include "backend/views.h"

#include "base/check.h"

namespace meshwork {

AxisView around_axis(const Shape& shape, std::int64_t axis) {
  MW_CHECK(axis >= 0 && axis < static_cast<std::int64_t>(shape.size()), "axis {} of {}", axis,
           to_string(shape));
  AxisView view;
  for (std::int64_t d = 0; d < static_cast<std::int64_t>(shape.size()); ++d) {
    const std::int64_t extent = shape[static_cast<std::size_t>(d)];
    (d < axis ? view.outer : d == axis ? view.extent : view.inner) *= extent;
  }
  return view;
}

Shape broadcast_strides(const Shape& shape, const Shape& to) {
  MW_CHECK(shape.size() <= to.size(), "{} to {}", to_string(shape), to_string(to));
  const Shape dense = row_major_strides(shape);
  const std::size_t missing = to.size() - shape.size();
  Shape strides(to.size(), 0);
  for (std::size_t d = 0; d < shape.size(); ++d) {
    if (shape[d] == to[missing + d]) {
      strides[missing + d] = dense[d];
    } else {
      MW_CHECK(shape[d] == 1, "{} to {}", to_string(shape), to_string(to));
    }
  }
  return strides;
}

std::uint64_t step_of(const KernelArgs& args) {
  return args.inputs.empty() ? 0 : static_cast<std::uint64_t>(*args.inputs[0].as<std::int64_t>());
}

}  // namespace meshwork
