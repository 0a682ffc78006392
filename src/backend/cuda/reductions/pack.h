#pragma once

#include <initializer_list>
#include <string_view>

#include "backend/backend.h"

namespace meshwork::cuda {

/// Elements that a thread reads or writes at once, 16 bytes at most, of rows of `extent` elements.
int pack_width(std::int64_t extent, DType dtype);

/// The same for the first of these tensors, whose packs all of them are read or written in: 1 where
/// one of them does not begin at a whole pack.
int pack_width(std::int64_t extent, std::initializer_list<const TensorView*> tensors);

/// A number of any dtype = what was computed.
inline constexpr std::string_view kStoreText = R"cuda(
template <class N>
DEVICE void store(N& y, float x) {
  y = from_float<N>(x);
}
DEVICE void store(int32& y, int32 x) { y = x; }
DEVICE void store(int64& y, int64 x) { y = x; }
)cuda";

}  // namespace meshwork::cuda
