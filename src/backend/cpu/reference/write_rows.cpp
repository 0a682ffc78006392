// y[b, s, ..] = rows[b, s - start[b], ..] where there is such a row, else x[b, s, ..]
#include <cstring>
#include <vector>

#include "backend/cpu/reference/index.h"
#include "backend/cpu/reference/kernels.h"

namespace meshwork::reference {

Launch write_rows(const KernelArgs& args) {
  return [x = args.inputs[0], rows = args.inputs[1], start = args.inputs[2], y = args.output] {
    const std::int64_t count = rows.type.shape[1];
    const Shape strides = row_major_strides(y.type.shape);
    const Shape row_strides = row_major_strides(rows.type.shape);
    const std::size_t size = size_of(y.type.dtype);
    // The operands may stand where the result does.
    std::vector<std::byte> result(static_cast<std::size_t>(num_bytes(y.type)));
    for_each_index(y.type.shape, [&](const Shape& index) {
      Shape place = index;
      place[1] += y.region.offset[1] - start.as<std::int32_t>()[index[0]];
      const bool is_row = place[1] >= 0 && place[1] < count;
      const std::int64_t from = is_row ? offset_of(place, row_strides) : offset_of(index, strides);
      std::memcpy(result.data() + static_cast<std::size_t>(offset_of(index, strides)) * size,
                  (is_row ? rows : x).data + static_cast<std::size_t>(from) * size, size);
    });
    if (!result.empty()) std::memcpy(y.data, result.data(), result.size());
  };
}

}  // namespace meshwork::reference
