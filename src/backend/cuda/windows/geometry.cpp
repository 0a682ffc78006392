#include "backend/cuda/windows/geometry.h"

#include <cstdint>
#include <limits>

#include "backend/slide.h"
#include "base/check.h"

namespace meshwork::cuda::windows {
namespace {

constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max();

std::int32_t narrow(std::int64_t number) {
  MW_CHECK(number >= -kMost && number <= kMost, "{} in a window", number);
  return static_cast<std::int32_t>(number);
}

}  // namespace

Slides slides_of(const Attrs& attrs, const TensorView& x, const TensorView& y,
                 const Shape& window) {
  const auto given = slides_between(attrs, x, y, window);
  MW_CHECK(given.size() <= kSpatial);
  Slides slides;
  for (std::size_t i = 0; i < given.size(); ++i) {
    const meshwork::Slide& s = given[i];
    slides[kSpatial - given.size() + i] = {narrow(s.x),      narrow(s.y),       narrow(s.window),
                                           narrow(s.stride), narrow(s.padding), narrow(s.dilation)};
  }
  for (const std::int64_t count : {x_pixels(slides), y_pixels(slides), places(slides)}) {
    narrow(count);
  }
  return slides;
}

std::int64_t x_pixels(const Slides& slides) {
  return std::int64_t{slides[0].x} * slides[1].x * slides[2].x;
}

std::int64_t y_pixels(const Slides& slides) {
  return std::int64_t{slides[0].y} * slides[1].y * slides[2].y;
}

std::int64_t places(const Slides& slides) {
  return std::int64_t{slides[0].window} * slides[1].window * slides[2].window;
}

bool is_flat(const Slides& slides) {
  const Slide& front = slides[0];
  return front.x == 1 && front.y == 1 && front.window == 1 && front.padding == 0;
}

int width_of(std::int64_t extent, int limit, std::initializer_list<const TensorView*> tensors) {
  int width = limit;
  while (extent % width != 0) width /= 2;
  for (const TensorView* const tensor : tensors) {
    const auto size = static_cast<std::uintptr_t>(size_of(tensor->type.dtype));
    const auto begin = reinterpret_cast<std::uintptr_t>(tensor->data);
    while (begin % (size * static_cast<std::uintptr_t>(width)) != 0) width /= 2;
  }
  return width;
}

}  // namespace meshwork::cuda::windows
