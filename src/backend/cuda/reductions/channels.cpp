#include "backend/cuda/reductions/channels.h"

#include <algorithm>
#include <numeric>

#include "backend/cuda/reductions/pack.h"
#include "backend/cuda/reductions/walk.h"
#include "backend/cuda/team.h"

namespace meshwork::cuda {
namespace {

constexpr int kMostPairs = 4;  ///< of a pack: two sums of more take too many registers

/// Two sums of a channel; a text behind kWalkText that knows X, the dtype of operand 0.
constexpr std::string_view kPairsText = R"cuda(
struct Pair {
  float first, second;
};
struct Pairs {
  float first[V], second[V];
};
struct Totals {
  float64 first, second;
};

DEVICE Pair from_lane(const Pair& x, int32 distance) {
  return {from_lane(x.first, distance), from_lane(x.second, distance)};
}

struct Op {
  typedef Pairs Number;
  DEVICE Pairs nothing() { return {}; }
  DEVICE Pair fold(const Pair& a, const Pair& b) {
    return {a.first + b.first, a.second + b.second};
  }
  DEVICE Totals fold(const Totals& a, const Totals& b) {
    return {a.first + b.first, a.second + b.second};
  }
  DEVICE Pairs fold(const Pairs& a, const Pairs& b) {
    Pairs y;
    for (int32 i = 0; i < V; ++i) {
      y.first[i] = a.first[i] + b.first[i];
      y.second[i] = a.second[i] + b.second[i];
    }
    return y;
  }
};

// x - shift, and its square: of a pack, whose elements are of a channel each, or of the same.
struct Shifted {
  const X* x;
  float shift[V];
  DEVICE Shifted of(const X* x, const float* shift, int64 channel, int32 apart) {
    Shifted terms{x, {}};
    for (int32 i = 0; i < V; ++i) terms.shift[i] = shift[channel + i * apart];
    return terms;
  }
  __device__ Pairs operator()(int64 at) const {
    const Pack<X, V> pack = load<V>(x + at);
    Pairs y;
    for (int32 i = 0; i < V; ++i) {
      y.first[i] = computed(pack.at[i]) - shift[i];
      y.second[i] = y.first[i] * y.first[i];
    }
    return y;
  }
};
)cuda";

}  // namespace

Channels channels_of(const KernelArgs& args) {
  const Shape& shape = args.inputs[0].type.shape;
  const auto axis = static_cast<std::size_t>(args.attrs.integer("axis"));
  Channels channels{shape[axis], 1, std::vector<std::int64_t>(shape.size())};
  std::iota(channels.axes.begin(), channels.axes.end(), 0);
  channels.axes.erase(channels.axes.begin() + static_cast<std::ptrdiff_t>(axis));
  channels.parts = reduction_parts(shape, channels.axes, DType::kFloat32);
  return channels;
}

Reduction plan_channels(const Channels& channels, const Shape& shape,
                        std::initializer_list<const TensorView*> tensors) {
  const int fit = pack_width(reduction_columns(shape, channels.axes), tensors);
  return plan_reduction(shape, channels.axes, std::min(fit, kMostPairs), channels.parts);
}

Grid grid_of_channels(const Channels& channels) { return {(channels.count + 7) / 8, 256}; }

std::string pairs_source(std::string_view text) {
  std::string all(kTeamText);
  return all.append(kStoreText).append(kWalkText).append(kPairsText).append(text);
}

}  // namespace meshwork::cuda
