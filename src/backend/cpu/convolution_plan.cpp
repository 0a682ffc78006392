#include "backend/cpu/convolution_plan.h"

#include <algorithm>

namespace meshwork::cpu {
namespace {

/// The elements of one dimension of x that are taken, and the zeros around them.
struct Extent {
  std::int64_t begin = 0;
  std::int64_t end = 0;
  std::int64_t low = 0;
  std::int64_t high = 0;
};

/// Elements behind the last that is read are taken if they are fewer than a stride: they do no
/// harm.
Extent extent_of(const Slide& slide) {
  const std::int64_t end = slide.first(slide.y - 1) + (slide.window - 1) * slide.dilation + 1;
  Extent extent;
  extent.begin = std::max<std::int64_t>(0, -slide.padding);
  extent.end = slide.x - end < slide.stride ? slide.x : end;
  extent.low = std::max<std::int64_t>(0, slide.padding);
  extent.high = end - extent.end;
  return extent;
}

bool reads_nothing(const Slide& slide) {
  const std::int64_t end = slide.first(slide.y - 1) + (slide.window - 1) * slide.dilation + 1;
  return slide.x == 0 || slide.y == 0 || slide.window == 0 || end <= 0 ||
         -slide.padding >= std::min(slide.x, end);
}

void plan_copy(ConvolutionPlan& plan, const std::vector<Extent>& extents, bool with_zeros) {
  const std::int64_t channels = plan.groups * plan.in;
  std::vector<CopyDim> dims{{channels, 1, 1}};
  std::int64_t from = channels, to = channels;
  for (std::size_t d = extents.size(); d-- > 0;) {
    const Extent& extent = extents[d];
    Slide& slide = plan.slides[d];
    const std::int64_t taken = extent.end - extent.begin;
    const std::int64_t low = with_zeros ? extent.low : 0;
    plan.copied =
        plan.copied || taken < slide.x || (with_zeros && (extent.low > 0 || extent.high > 0));
    plan.x_is_covered = plan.x_is_covered && taken == slide.x;
    plan.copy_from += extent.begin * from;
    plan.copy_to += low * to;
    dims.push_back({taken, from, to});
    from *= slide.x;
    slide.x = low + taken + (with_zeros ? std::max<std::int64_t>(0, extent.high) : 0);
    slide.padding = with_zeros ? 0 : extent.low;
    plan.high[d] = with_zeros ? std::min<std::int64_t>(0, extent.high) : extent.high;
    to *= slide.x;
  }
  dims.push_back({plan.images, from, to});
  std::reverse(dims.begin(), dims.end());
  plan.copy = std::move(dims);
  plan.copy_elements = plan.images * to;
}

}  // namespace

bool ConvolutionPlan::padded() const {
  return std::any_of(slides.begin(), slides.end(), [](const Slide& s) { return s.padding > 0; }) ||
         std::any_of(high.begin(), high.end(), [](std::int64_t elements) { return elements > 0; });
}

bool ConvolutionPlan::is_all_copied() const {
  std::int64_t elements = 1;
  for (const CopyDim& dim : copy) elements *= dim.extent;
  return elements == copy_elements;
}

bool ConvolutionPlan::fold_stride() {
  Slide& slide = slides.back();
  const std::int64_t stride = slide.stride;
  const auto divides = [&](std::int64_t elements) { return elements % stride == 0; };
  if (groups > 1 || stride == 1 || slide.dilation > 1 || !divides(slide.x) ||
      !divides(slide.window) || !divides(slide.padding)) {
    return false;
  }
  const std::int64_t x = slide.x / stride, window = slide.window / stride,
                     padding = slide.padding / stride;
  const std::int64_t behind = slide.y - 1 + window - padding - x;
  if (behind < 0) return false;
  slide.x = x;
  slide.window = window;
  slide.padding = padding;
  slide.stride = 1;
  high.back() = behind;
  in *= stride;
  return true;
}

std::optional<ConvolutionPlan> ConvolutionPlan::of_gradient() const {
  if (groups > 1 || copied) return std::nullopt;
  ConvolutionPlan plan = *this;
  std::swap(plan.in, plan.out);
  for (std::size_t d = 0; d < slides.size(); ++d) {
    const std::int64_t reach = (slides[d].window - 1) * slides[d].dilation;
    Slide& slide = plan.slides[d];
    std::swap(slide.x, slide.y);
    slide.padding = reach - slides[d].padding;
    plan.high[d] = reach - high[d];
    if (slide.stride > 1 || slide.padding < 0 || plan.high[d] < 0) return std::nullopt;
  }
  return plan;
}

ConvolutionPlan plan_convolution(const Attrs& attrs, const TensorView& x, const TensorView& w,
                                 const TensorView& y, bool with_zeros) {
  const Shape& kernel = w.type.shape;
  ConvolutionPlan plan;
  plan.images = x.type.shape[0];
  plan.groups = local_groups(x.type.shape, kernel);
  plan.in = kernel[kernel.size() - 2];
  plan.out = kernel.back() / plan.groups;
  plan.slides = slides_between(attrs, x, y, Shape(kernel.begin(), kernel.end() - 2));
  if (plan.slides.size() == 1) plan.slides.insert(plan.slides.begin(), Slide{.x = 1, .y = 1});
  plan.high.assign(plan.slides.size(), 0);
  plan.empty = plan.images == 0 || plan.in == 0 || plan.out == 0 || x.type.shape.back() == 0 ||
               std::any_of(plan.slides.begin(), plan.slides.end(), reads_nothing);
  if (plan.empty) return plan;
  std::vector<Extent> extents;
  for (const Slide& slide : plan.slides) extents.push_back(extent_of(slide));
  plan_copy(plan, extents, with_zeros);
  return plan;
}

}  // namespace meshwork::cpu
