// y[b, s, ..] = rows[b, s - start[b], ..] where there is such a row, else x[b, s, ..]. Where y
// stands in the place of x only the rows are copied.
#include <algorithm>
#include <cstring>

#include "backend/cpu/kernels.h"
#include "base/parallel.h"

namespace meshwork::cpu {

Launch write_rows(const KernelArgs& args) {
  const TensorView& y = args.output;
  const Shape& shape = y.type.shape;
  const std::int64_t samples = shape[0], places = shape[1], first = y.region.offset[1];
  const std::int64_t count = args.inputs[1].type.shape[1];
  const std::int64_t row = num_elements(Shape(shape.begin() + 2, shape.end())) *
                           static_cast<std::int64_t>(size_of(y.type.dtype));
  return [=, x = args.inputs[0].data, rows = args.inputs[1].data, y = y.data,
          start = args.inputs[2].as<std::int32_t>()] {
    const auto bytes = [row](std::int64_t lines) { return static_cast<std::size_t>(lines * row); };
    const std::int64_t moved = (x == y ? count : places) * row / 4;
    for_each_share(samples, samples * moved, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t b = begin; b < end; ++b) {
        const std::int64_t at = start[b] - first;  // of row 0, among the places held
        const std::int64_t from = std::clamp<std::int64_t>(at, 0, places);
        const std::int64_t to = std::clamp<std::int64_t>(at + count, from, places);
        const std::int64_t held = b * places;
        // First the rows: y may stand in their place.
        if (to > from) {
          std::memmove(y + (held + from) * row, rows + (b * count + from - at) * row,
                       bytes(to - from));
        }
        if (x == y) continue;
        if (from > 0) std::memcpy(y + held * row, x + held * row, bytes(from));
        if (to < places) {
          std::memcpy(y + (held + to) * row, x + (held + to) * row, bytes(places - to));
        }
      }
    });
  };
}

}  // namespace meshwork::cpu
