#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "config/value.h"
#include "model/scope.h"
#include "ops/window.h"

namespace meshwork::layers {

// What layers over space have in common. Their samples are [extents.., channels], with one extent
// (1D), two (height, width: 2D) or three (3D).

/// The extents of the samples of x. An Error if these are not `rank` extents and channels, or if
/// `data_format` asks for channels_first.
Shape read_extents(Scope& scope, config::Reader& args, ValueId x, std::size_t rank);

/// One number per spatial dimension, as in Keras: `3` or `[3, 3]`; each from `least` to 2^16.
/// `fallback` stands for every dimension if the key is absent; without one it is required.
Shape read_numbers(config::Reader& args, std::string_view key, std::size_t rank,
                   std::optional<std::int64_t> fallback, std::int64_t least = 1);

/// Elements before and after, along one dimension.
struct Margin {
  std::int64_t before = 0;
  std::int64_t after = 0;
};

/// `1`, `[1, 2]` (height and width; in 1D before and after) or `[[1, 2], [3, 4]]`.
std::vector<Margin> read_margins(config::Reader& args, std::string_view key, std::size_t rank,
                                 std::int64_t fallback);

enum class Padding { kValid, kSame, kCausal };

/// `valid`, the default, `same`, or, if `causal`, `causal`.
Padding read_padding(config::Reader& args, bool causal = false);

/// Windows over all of space: the attributes of ops with windows, one number per dimension.
struct Windows {
  Shape window;
  Shape strides;
  Shape dilations;
  Padding padding = Padding::kValid;
  Shape before;   ///< elements of padding before the first
  Shape results;  ///< extents of the result
};

/// Fills in `before` and `results` for an image of `extents`. Same: ceil(extent / stride) results,
/// the padding halved, an odd element after the last. An Error if no window fits.
void place(Windows& windows, const config::Reader& args, const Shape& extents);

/// The position along spatial dimension `i` of every element of such `extents`, counted from 0:
/// float32, of extent one in all other dimensions of [n, extents.., channels].
ValueId positions(GraphBuilder& b, const Shape& extents, std::size_t i);

}  // namespace meshwork::layers
