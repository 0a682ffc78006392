// channel_moments, c along `axis`:
//
// y[0, c] = sum of x, y[1, c] = sum of x - y[3, c]
// y[2, c] = sum of its square, y[3, c] = factor times y[0, c]
//
// One pass over x. Each part is added up around one of its elements, the second largest of three;
// in float64 the parts' sums are then those around any other number (Chan, Golub, LeVeque 1983).
#include <string>

#include "backend/cuda/reductions/channels.h"
#include "backend/cuda/reductions/kernels.h"

namespace meshwork::cuda {
namespace {

constexpr std::string_view kText = R"cuda(
DEVICE float second_of(float a, float b, float c) {
  return fmaxf(fminf(a, b), fminf(fmaxf(a, b), c));
}

// x around elements of a part's first, middle and last row: of channels `apart` elements from each
// other.
DEVICE Shifted around_own(const Plan& plan, const Place& place, const X* x, int64 first,
                          int32 apart) {
  const int64 begin = min(place.part * plan.part, plan.rows - 1);
  const int64 last = min(begin + plan.part, plan.rows) - 1;
  first += offset_in(plan.kept, place.outer);
  const X* const low = x + first + offset_in(plan.reduced, begin);
  const X* const middle = x + first + offset_in(plan.reduced, begin + (last - begin) / 2);
  const X* const high = x + first + offset_in(plan.reduced, last);
  Shifted terms{x, {}};
  for (int32 i = 0; i < V; ++i) {
    const int32 at = i * apart;
    terms.shift[i] = second_of(computed(low[at]), computed(middle[at]), computed(high[at]));
  }
  return terms;
}

// sums and shifts [parts, channels]; channels side by side
KERNEL(fold_columns, Pair* sums, float* shifts, const X* x, Plan plan) {
  const Place place = place_in_columns(plan, blockIdx.x);
  const int64 channel = place.column * V;
  Pairs pairs{};
  Shifted terms{};
  if (place.mine) {
    terms = around_own(plan, place, x, channel, 1);
    pairs = walk<Op>(plan, place, place.column, terms);
  }
  pairs = fold_side_by_side<Op>(place.team, pairs);
  if (!place.mine || place.team.lane != 0) return;
  const int64 to = place.part * plan.columns * V + channel;
  for (int32 i = 0; i < V; ++i) {
    sums[to + i] = {pairs.first[i], pairs.second[i]};
    shifts[to + i] = terms.shift[i];
  }
}

// The same; the elements of a channel side by side
KERNEL(fold_lines, Pair* sums, float* shifts, const X* x, Plan plan) {
  const Place place = place_in_lines(plan, blockIdx.x);
  Shifted terms{};
  if (place.mine) terms = around_own(plan, place, x, 0, 0);
  const Pairs pairs = walk_line<Op>(plan, place, terms);
  Pair pair{};
  for (int32 i = 0; i < V; ++i) pair = Op::fold(pair, {pairs.first[i], pairs.second[i]});
  pair = fold_neighbours<Op>(place.team, pair);
  if (!place.mine || place.team.lane != 0) return;
  sums[place.part * plan.results + place.result] = pair;
  shifts[place.part * plan.results + place.result] = terms.shift[0];
}

struct Parts {
  int64 number, rows, part;  // rows of all, of a part
  int64 elements;            // of a row
};

KERNEL(join, float* y, const Pair* sums, const float* shifts, int64 channels, Parts parts,
       float64 factor) {
  const Team team = side_by_side(32, 8);
  const int64 channel = (int64)blockIdx.x * 8 + team.slot;
  const bool mine = channel < channels;
  const auto count = [&](int64 part) {
    const int64 rows = min(parts.part, parts.rows - part * parts.part);
    return rows > 0 ? (float64)(rows * parts.elements) : 0.0;
  };
  Totals totals{};
  for (int64 part = team.lane; mine && part < parts.number; part += team.lanes) {
    const int64 at = part * channels + channel;
    totals.first += count(part) * shifts[at] + sums[at].first;
  }
  const float64 total = fold_side_by_side<Op>(team, totals).first;
  const float mean = (float)(factor * total);
  totals = {};
  for (int64 part = team.lane; mine && part < parts.number; part += team.lanes) {
    const int64 at = part * channels + channel;
    const float64 apart = (float64)shifts[at] - mean, some = count(part) * apart;
    totals.first += some + sums[at].first;
    totals.second += some * apart + 2 * apart * sums[at].first + sums[at].second;
  }
  totals = fold_side_by_side<Op>(team, totals);
  if (!mine || team.lane != 0) return;
  y[channel] = (float)total;
  y[channels + channel] = (float)totals.first;
  y[2 * channels + channel] = (float)totals.second;
  y[3 * channels + channel] = mean;
}
)cuda";

constexpr std::int64_t kShiftBytes = 4;

struct Parts {
  std::int64_t number, rows, part, elements;
};

}  // namespace

std::int64_t channel_moments_workspace(const KernelArgs& args) {
  const Channels channels = channels_of(args);
  return (kPairBytes + kShiftBytes) * channels.count * channels.parts;
}

Launch channel_moments(const KernelArgs& args) {
  const Channels channels = channels_of(args);
  if (channels.count == 0) return [] {};
  const TensorView& x = args.inputs[0];
  CudaStream& stream = stream_of(args);
  if (num_elements(x.type.shape) == 0) {
    return [&stream, y = args.output] { stream.fill_zero(y.data, num_bytes(y.type)); };
  }
  const Reduction reduction = plan_channels(channels, x.type.shape, {&x});
  const ReducePlan& plan = reduction.plan;
  const std::int64_t elements = reduction.keeps_columns ? 1 : plan.columns * reduction.pack;
  const Parts parts{plan.parts, plan.rows, plan.part, elements};
  const Source source{"channel_moments", pairs_source(kText),
                      define("X", x.type.dtype) + define("V", reduction.pack)};
  std::byte* const sums = args.workspace;
  std::byte* const shifts = sums + kPairBytes * channels.count * channels.parts;
  const Grid last = grid_of_channels(channels);
  return [fold = kernel_launch(stream, source, std::string(reduction.name), reduction.grid, sums,
                               shifts, x.data, plan),
          join = kernel_launch(stream, source, "join", last, args.output.data, sums, shifts,
                               channels.count, parts, args.attrs.real("factor"))] {
    fold();
    join();
  };
}

}  // namespace meshwork::cuda
