// shifted_sums:      y[0, c] = sum of x, y[1, c] = sum of x - shift[c], y[2, c] = sum of its square
// scale_offset_sums: y[0, c] = sum of x dy, y[1, c] = sum of dy; c along `axis`
// The first row of shifted_sums is made of the second, which keeps more digits.
#include <string>

#include "backend/cuda/reductions/channels.h"
#include "backend/cuda/reductions/kernels.h"

namespace meshwork::cuda {
namespace {

constexpr std::string_view kText = R"cuda(
#if SHIFTS
typedef Shifted Terms;
typedef float Beside;
#else
struct Terms {
  const X* x;
  const X* dy;
  DEVICE Terms of(const X* x, const X* dy, int64, int32) { return {x, dy}; }
  __device__ Pairs operator()(int64 at) const {
    const Pack<X, V> pack = load<V>(x + at), gradient = load<V>(dy + at);
    Pairs y;
    for (int32 i = 0; i < V; ++i) {
      y.second[i] = computed(gradient.at[i]);
      y.first[i] = computed(pack.at[i]) * y.second[i];
    }
    return y;
  }
};
typedef X Beside;
#endif

// sums [parts, channels]; channels side by side
KERNEL(fold_columns, Pair* sums, const X* x, const Beside* beside, Plan plan) {
  const Place place = place_in_columns(plan, blockIdx.x);
  const int64 channel = place.column * V;
  Pairs pairs{};
  if (place.mine) {
    pairs = walk<Op>(plan, place, place.column, Terms::of(x, beside, channel, 1));
  }
  pairs = fold_side_by_side<Op>(place.team, pairs);
  if (!place.mine || place.team.lane != 0) return;
  Pair* const to = sums + place.part * plan.columns * V + channel;
  for (int32 i = 0; i < V; ++i) to[i] = {pairs.first[i], pairs.second[i]};
}

// The same; the elements of a channel side by side
KERNEL(fold_lines, Pair* sums, const X* x, const Beside* beside, Plan plan) {
  const Place place = place_in_lines(plan, blockIdx.x);
  const int64 channel = place.mine ? place.result : 0;
  const Pairs pairs = walk_line<Op>(plan, place, Terms::of(x, beside, channel, 0));
  Pair pair{};
  for (int32 i = 0; i < V; ++i) pair = Op::fold(pair, {pairs.first[i], pairs.second[i]});
  pair = fold_neighbours<Op>(place.team, pair);
  if (place.mine && place.team.lane == 0) sums[place.part * plan.results + channel] = pair;
}

KERNEL(finish, float* y, const Pair* sums, const Beside* beside, int64 channels, int64 parts,
       int64 count) {
  const Team team = side_by_side(32, 8);
  const int64 channel = (int64)blockIdx.x * 8 + team.slot;
  const bool mine = channel < channels;
  Totals totals{};
  if (mine) {
    for (int64 part = team.lane; part < parts; part += team.lanes) {
      const Pair pair = sums[part * channels + channel];
      totals = Op::fold(totals, Totals{pair.first, pair.second});
    }
  }
  totals = fold_side_by_side<Op>(team, totals);
  if (!mine || team.lane != 0) return;
#if SHIFTS
  y[channel] = (float)(totals.first + (float64)count * (float64)beside[channel]);
  y += channels;
#endif
  y[channel] = (float)totals.first;
  y[channels + channel] = (float)totals.second;
}
)cuda";

Launch channel_sums(const KernelArgs& args, const char* name, bool shifts) {
  const Channels channels = channels_of(args);
  if (channels.count == 0) return [] {};
  const TensorView &x = args.inputs[0], &beside = args.inputs[1];
  const Shape& shape = x.type.shape;
  const Reduction reduction =
      shifts ? plan_channels(channels, shape, {&x}) : plan_channels(channels, shape, {&x, &beside});
  const std::string defines = define("X", x.type.dtype) + define("V", reduction.pack) +
                              define("SHIFTS", static_cast<std::int64_t>(shifts));
  const Source source{name, pairs_source(kText), defines};
  const std::int64_t count = num_elements(shape) / channels.count;
  CudaStream& stream = stream_of(args);
  const Grid last = grid_of_channels(channels);
  return [fold = kernel_launch(stream, source, std::string(reduction.name), reduction.grid,
                               args.workspace, x.data, beside.data, reduction.plan),
          finish = kernel_launch(stream, source, "finish", last, args.output.data, args.workspace,
                                 beside.data, channels.count, reduction.plan.parts, count)] {
    fold();
    finish();
  };
}

}  // namespace

std::int64_t channel_sums_workspace(const KernelArgs& args) {
  const Channels channels = channels_of(args);
  return kPairBytes * channels.count * channels.parts;
}

Launch shifted_sums(const KernelArgs& args) { return channel_sums(args, "shifted_sums", true); }

Launch scale_offset_sums(const KernelArgs& args) {
  return channel_sums(args, "scale_offset_sums", false);
}

}  // namespace meshwork::cuda
