// assign_slots, dispatch, combine, pack_chosen, unpack_chosen: ops/assign_slots.cpp and the other
// pages there say what they give. Experts and their slots are counted over the whole tensor.
#include <algorithm>
#include <cstring>

#include "backend/cpu/chosen.h"
#include "backend/cpu/reference/index.h"
#include "backend/cpu/reference/kernels.h"

namespace meshwork::reference {
namespace {

/// Copies the row of `from` at the first three indices to the one of `to`.
void copy_row(const TensorView& from, const Shape& at, const TensorView& to, const Shape& place) {
  const auto row = [](const TensorView& view, const Shape& index) {
    const Shape& shape = view.type.shape;
    const std::int64_t number = (index[0] * shape[1] + index[1]) * shape[2] + index[2];
    return view.data + number * shape[3] * static_cast<std::int64_t>(size_of(view.type.dtype));
  };
  const auto width = static_cast<std::size_t>(from.type.shape[3]);
  std::memcpy(row(to, place), row(from, at), width * size_of(from.type.dtype));
}

/// body(index in `slots`, index of the row of `experts` [e, b, c, ..] that it names), of those
/// here.
template <class Body>
void for_each_slot(const TensorView& slots, const TensorView& experts, const Body& body) {
  const Shape& whole = experts.region.global;
  const Shape& first = experts.region.offset;
  const Shape strides = row_major_strides(slots.type.shape);
  for_each_index(slots.type.shape, [&](const Shape& index) {
    const std::int64_t slot = slots.as<std::int32_t>()[offset_of(index, strides)];
    if (slot < 0 || slot >= whole[0] * whole[2]) return;
    const std::int64_t expert = slot / whole[2] - first[0], place = slot % whole[2] - first[2];
    if (expert < 0 || expert >= experts.type.shape[0]) return;
    if (place < 0 || place >= experts.type.shape[2]) return;
    body(index, Shape{expert, index[0], place});
  });
}

/// move(block, packed block), in bytes, for each block [units] that is chosen: where it stands
/// among those of all experts, and among those that are packed.
template <class Move>
void for_each_block(const TensorView& all, const TensorView& chosen, const TensorView& packed,
                    const Move& move) {
  const std::int64_t experts = chosen.type.shape.back(), most = packed.type.shape.end()[-2];
  const std::int64_t rows = experts == 0 ? 0 : num_elements(chosen.type.shape) / experts;
  const std::int64_t bytes =
      all.type.shape.back() * static_cast<std::int64_t>(size_of(all.type.dtype));
  with_float(chosen.type.dtype, [&](auto number) {
    cpu::for_each_chosen(chosen.as<decltype(number)>(), rows, experts, most,
                         [&](std::int64_t row, std::int64_t expert, std::int64_t place) {
                           move(all.data + (row * experts + expert) * bytes,
                                packed.data + (row * most + place) * bytes, bytes);
                         });
  });
}

}  // namespace

Launch assign_slots(const KernelArgs& args) {
  const std::int64_t experts = args.attrs.integer("experts");
  const std::int64_t capacity = args.attrs.integer("capacity");
  return [x = args.inputs[0], y = args.output, experts, capacity] {
    const Shape& shape = x.type.shape;
    const auto at = [&](std::int64_t b, std::int64_t t, std::int64_t k) {
      return (b * shape[1] + t) * shape[2] + k;
    };
    for (std::int64_t b = 0; b < shape[0]; ++b) {
      std::vector<std::int64_t> taken(static_cast<std::size_t>(experts), 0);
      for (std::int64_t k = 0; k < shape[2]; ++k) {
        for (std::int64_t t = 0; t < shape[1]; ++t) {
          const std::int64_t expert = x.as<std::int32_t>()[at(b, t, k)];
          std::int64_t slot = -1;
          if (expert >= 0 && expert < experts) {
            const std::int64_t place = taken[static_cast<std::size_t>(expert)]++;
            if (place < capacity) slot = expert * capacity + place;
          }
          y.as<std::int32_t>()[at(b, t, k)] = static_cast<std::int32_t>(slot);
        }
      }
    }
  };
}

Launch dispatch(const KernelArgs& args) {
  return [x = args.inputs[0], slots = args.inputs[1], y = args.output] {
    std::fill_n(y.data, num_bytes(y.type), std::byte{0});
    for_each_slot(slots, y, [&](const Shape& from, const Shape& to) {
      copy_row(x, {from[0], from[1], x.type.shape[2] == 1 ? 0 : from[2]}, y, to);
    });
  };
}

Launch combine(const KernelArgs& args) {
  return [x = args.inputs[0], slots = args.inputs[1], y = args.output] {
    std::fill_n(y.data, num_bytes(y.type), std::byte{0});
    for_each_slot(slots, x, [&](const Shape& to, const Shape& from) { copy_row(x, from, y, to); });
  };
}

Launch pack_chosen(const KernelArgs& args) {
  return [x = args.inputs[0], chosen = args.inputs[1], y = args.output] {
    std::fill_n(y.data, num_bytes(y.type), std::byte{0});
    for_each_block(x, chosen, y, [](const std::byte* block, std::byte* place, std::int64_t bytes) {
      std::copy_n(block, bytes, place);
    });
  };
}

Launch unpack_chosen(const KernelArgs& args) {
  return [x = args.inputs[0], chosen = args.inputs[1], y = args.output] {
    std::fill_n(y.data, num_bytes(y.type), std::byte{0});
    for_each_block(y, chosen, x, [](std::byte* block, const std::byte* place, std::int64_t bytes) {
      std::copy_n(place, bytes, block);
    });
  };
}

}  // namespace meshwork::reference
