// assign_slots: the slot of each choice; dispatch, combine: rows to slots of experts, and back.
//
// Threads take samples where slots are assigned, else rows of what is written.
#include <algorithm>
#include <cstring>
#include <vector>

#include "backend/cpu/kernels.h"
#include "backend/slots.h"
#include "base/parallel.h"

namespace meshwork::cpu {
namespace {

/// The row of a slot of a sample; -1 if it is not here.
std::int64_t row_of(const Slots& slots, std::int64_t slot, std::int64_t sample) {
  if (slot < 0) return -1;
  const std::int64_t expert = slot / slots.capacity - slots.first_expert;
  const std::int64_t place = slot % slots.capacity - slots.first_place;
  const bool is_here = expert >= 0 && expert < slots.experts && place >= 0 && place < slots.places;
  return is_here ? (expert * slots.samples + sample) * slots.places + place : -1;
}

/// y[i] = x[row(i)], rows of so many bytes; 0 where the row is -1.
template <class Row>
void gather_rows(const std::byte* x, std::byte* y, std::int64_t rows, std::int64_t bytes,
                 const Row& row) {
  const auto size = static_cast<std::size_t>(bytes);
  for_each_share(rows, rows * bytes / 4, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      const std::int64_t from = row(i);
      if (from >= 0) {
        std::memcpy(y + i * bytes, x + from * bytes, size);
      } else {
        std::memset(y + i * bytes, 0, size);
      }
    }
  });
}

}  // namespace

Launch assign_slots(const KernelArgs& args) {
  const Shape& shape = args.inputs[0].type.shape;
  const auto experts = static_cast<std::int32_t>(args.attrs.integer("experts"));
  return [x = args.inputs[0].as<std::int32_t>(), y = args.output.as<std::int32_t>(),
          samples = shape[0], steps = shape[1], ranks = shape[2], experts,
          capacity = static_cast<std::int32_t>(args.attrs.integer("capacity"))] {
    const std::int64_t choices = steps * ranks;
    for_each_share(samples, samples * choices, [&](std::int64_t begin, std::int64_t end) {
      std::vector<std::int32_t> taken(static_cast<std::size_t>(experts));
      for (std::int64_t b = begin; b < end; ++b) {
        std::fill(taken.begin(), taken.end(), 0);
        for (std::int64_t i = 0; i < choices; ++i) {
          const std::int64_t at = b * choices + i % steps * ranks + i / steps;
          const std::int32_t expert = x[at];
          const bool is_one = expert >= 0 && expert < experts;
          const std::int32_t place = is_one ? taken[static_cast<std::size_t>(expert)]++ : capacity;
          y[at] = place < capacity ? expert * capacity + place : -1;
        }
      }
    });
  };
}

Launch dispatch(const KernelArgs& args) {
  const TensorView& x = args.inputs[0];
  const Shape& choices = args.inputs[1].type.shape;
  const std::int64_t shared = x.type.shape[2] == 1 ? choices[2] : 1;  // choices of one row
  return [slots = slots_of(args.output), choice = args.inputs[1].as<std::int32_t>(),
          of_sample = choices[1] * choices[2], count = num_elements(choices), shared, x = x.data,
          y = args.output.data, bytes = row_bytes(x),
          from = reinterpret_cast<std::int32_t*>(args.workspace)] {
    std::fill_n(from, slots.rows(), -1);
    for (std::int64_t i = 0; i < count; ++i) {
      const std::int64_t row = row_of(slots, choice[i], i / of_sample);
      if (row >= 0) from[row] = static_cast<std::int32_t>(i / shared);
    }
    gather_rows(x, y, slots.rows(), bytes, [&](std::int64_t row) { return from[row]; });
  };
}

Launch combine(const KernelArgs& args) {
  const Shape& choices = args.inputs[1].type.shape;
  return [slots = slots_of(args.inputs[0]), choice = args.inputs[1].as<std::int32_t>(),
          of_sample = choices[1] * choices[2], count = num_elements(choices),
          x = args.inputs[0].data, y = args.output.data, bytes = row_bytes(args.output)] {
    gather_rows(x, y, count, bytes,
                [&](std::int64_t i) { return row_of(slots, choice[i], i / of_sample); });
  };
}

}  // namespace meshwork::cpu
