#pragma once

#include <cstdint>

#include "backend/backend.h"

namespace meshwork {

/// Which slots of experts a device has (ops/dispatch.cpp): a part of [experts, samples, places,
/// ..], each row of which is one. Kernels of GPUs take it as it is.
struct Slots {
  std::int64_t capacity;  ///< places of an expert on all devices
  std::int64_t first_expert, experts, samples, first_place, places;

  std::int64_t rows() const { return experts * samples * places; }
};

inline Slots slots_of(const TensorView& view) {
  const Shape &shape = view.type.shape, &first = view.region.offset;
  return {view.region.global[2], first[0], shape[0], shape[1], first[2], shape[2]};
}

/// Of the elements along the last dimension.
inline std::int64_t row_bytes(const TensorView& view) {
  return view.type.shape.back() * static_cast<std::int64_t>(size_of(view.type.dtype));
}

/// Bytes of scratch for `dispatch`: for each row of slots the number of the row that goes there.
inline std::int64_t dispatch_bytes(const KernelArgs& args) {
  return slots_of(args.output).rows() * static_cast<std::int64_t>(sizeof(std::int32_t));
}

}  // namespace meshwork
