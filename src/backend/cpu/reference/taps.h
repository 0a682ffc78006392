#pragma once

#include <vector>

#include "backend/cpu/reference/index.h"
#include "backend/slide.h"

namespace meshwork::reference {

/// body(x, y, k) for each element of y, each place k of its window in row-major order, and the
/// element of x that stands there, if one does; all three are places among the spatial elements of
/// all images, in row-major order.
template <class Body>
void for_each_tap(std::int64_t images, const std::vector<Slide>& slides, const Body& body) {
  Shape x{images}, y{images}, window;
  for (const Slide& slide : slides) {
    x.push_back(slide.x);
    y.push_back(slide.y);
    window.push_back(slide.window);
  }
  const Shape strides = row_major_strides(x);
  std::int64_t y_place = 0;
  for_each_index(y, [&](const Shape& o) {
    std::int64_t k_place = 0;
    for_each_index(window, [&](const Shape& k) {
      std::int64_t x_place = o[0] * strides[0];
      bool there = true;
      for (std::size_t d = 0; d < slides.size(); ++d) {
        const std::int64_t i = slides[d].first(o[d + 1]) + k[d] * slides[d].dilation;
        there = there && slides[d].has(i);
        x_place += i * strides[d + 1];
      }
      if (there) body(x_place, y_place, k_place);
      ++k_place;
    });
    ++y_place;
  });
}

}  // namespace meshwork::reference
