#include "backend/slide.h"

#include "base/check.h"

namespace meshwork {

std::vector<Slide> slides_between(const Attrs& attrs, const TensorView& x, const TensorView& y,
                                  const Shape& window) {
  const auto& strides = attrs.integers("strides");
  const auto& padding = attrs.integers("padding");
  const bool dilated = attrs.find("dilations") != nullptr;
  MW_CHECK(x.type.shape.size() == strides.size() + 2 && x.type.shape.size() == y.type.shape.size());
  std::vector<Slide> result;
  for (std::size_t i = 0; i < strides.size(); ++i) {
    const std::size_t d = i + 1;
    result.push_back({.x = x.type.shape[d],
                      .y = y.type.shape[d],
                      .window = window[i],
                      .stride = strides[i],
                      .padding = padding[i] + x.region.offset[d] - y.region.offset[d] * strides[i],
                      .dilation = dilated ? attrs.integers("dilations")[i] : 1});
  }
  return result;
}

std::int64_t local_groups(const Shape& x, const Shape& w) {
  const std::int64_t per_group = w[w.size() - 2];
  if (per_group == 0 || x.back() == 0) return 1;
  MW_CHECK(x.back() % per_group == 0 && w.back() % (x.back() / per_group) == 0,
           "{} channels with a kernel of {}", x.back(), to_string(w));
  return x.back() / per_group;
}

}  // namespace meshwork
