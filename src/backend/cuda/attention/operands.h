#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "backend/cuda/index.h"
#include "backend/cuda/kernel.h"

// Structs for the host, and their text for kernels.
#define MW_FOR_BOTH(text, ...) __VA_ARGS__ inline constexpr std::string_view text = #__VA_ARGS__;

namespace meshwork::cuda::attention {

using std::int32_t;
using uint32 = std::uint32_t;
using int32 = std::int32_t;
using int64 = std::int64_t;

// Operands: the operands of an op of attention (graph/attention_options.h) but for tensors of T,
//   and what it does with them. b samples of t queries and s keys, g groups of r members.
//   distance: of the first query held from the first key held, before a shift
//   window: 0 if there is none
//   by_head: log_sums are [b, g, r, t]
//   mask_steps: from one index of b, t, g and r to the next in the mask, 0 where it has ones
//   rate: of dropout, 0 if there is none; kept weights are multiplied by `factor`
//   draw_*: weight (b, g, r, t, s) is element draw_first + b * draw_sample + g * draw_group +
//     r * draw_member + t * draw_query + s of the uniform tensor
MW_FOR_BOTH(
    kOperandsText, struct Operands {
      int32 b, t, g, r, s;
      int32 d, e;
      Divisor by_r;
      float scale;
      int32 is_causal;
      int32 window;
      int32 distance;
      int32 by_head;
      const float* mask;
      int64 mask_steps[4];
      const int32* shift;
      const int32* query_segments;
      const int32* key_segments;
      const int64* step;
      int64 draw_key;
      float rate;
      float factor;
      int64 draw_first, draw_sample, draw_group, draw_member, draw_query;
    };)

/// Ops of attention with the same operands and attributes, and where their results go, in an order
/// that the kernel says.
struct Request {
  std::vector<TensorView> inputs;
  std::vector<bool> asked;          ///< which of the results
  std::vector<std::byte*> outputs;  ///< their places, null of what is not asked for
  Attrs attrs;
  std::byte* workspace = nullptr;
  CudaStream* stream = nullptr;
};

inline std::byte* address(const TensorView& view) { return view.data; }
inline std::byte* address(std::byte* place) { return place; }

/// Of the first of a list.
template <std::size_t kCount, class List>
std::array<std::byte*, kCount> addresses(const List& list) {
  std::array<std::byte*, kCount> result{};
  for (std::size_t i = 0; i < kCount; ++i) result[i] = address(list.at(i));
  return result;
}

/// Of the operands, of which `fixed` are always there.
Operands operands_of(const Request& request, std::size_t fixed);

}  // namespace meshwork::cuda::attention
