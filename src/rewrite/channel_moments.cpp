// shifted_sums(x, scaled_sum(x)) -> parts of channel_moments(x): the statistics of a batch
// normalization by one pass over x. Where devices share x, their sums come between.
#include <algorithm>

#include "graph/op_def.h"
#include "graph/readers.h"
#include "ops/ops.h"
#include "rewrite/insertions.h"
#include "rewrite/rewrite.h"

namespace meshwork {
namespace {

constexpr std::int64_t kShiftRow = 3;

/// Whether a sum leaves channels along `axis`.
bool is_of_channels(const Graph& program, const Node& sum, std::int64_t axis) {
  std::vector<std::int64_t> others;
  const auto rank = static_cast<std::int64_t>(program.type(sum.inputs[0]).shape.size());
  for (std::int64_t d = 0; d < rank; ++d) {
    if (d != axis) others.push_back(d);
  }
  return sum.attrs.integers("axes") == others && !sum.attrs.flag("keepdims");
}

Region region_of_rows(const Region& channels, std::int64_t rows) {
  Region region = channels;
  region.global.insert(region.global.begin(), rows);
  region.offset.insert(region.offset.begin(), 0);
  return region;
}

void run(Graph& program, const Target& /*target*/) {
  const Readers readers(program);
  Insertions insertions(program);
  for (const ValueId id : program.ids()) {
    const Node& sums = program.node(id);
    if (sums.op != &ops::kShiftedSums) continue;
    const ValueId x = sums.inputs[0], shift = sums.inputs[1];
    const Node& mean = program.node(shift);
    const std::int64_t axis = sums.attrs.integer("axis");
    if (mean.op != &ops::kScaledSum || mean.inputs[0] != x) continue;
    if (!is_of_channels(program, mean, axis) || mean.phase != sums.phase) continue;
    const auto is_slice = [&](ValueId reader) {
      const Node& node = program.node(reader);
      return node.op == &ops::kSlice && node.attrs.integer("axis") == 0;
    };
    const std::vector<ValueId>& parts = readers.nodes(id);
    const bool only_slices = std::ranges::all_of(parts, is_slice) && readers.are_nodes(id);
    if (!only_slices) continue;
    const Region channels = program.regions[shift];
    const Shape shape = mean.type.shape;
    const Attrs attrs{{"axis", axis}, {"factor", mean.attrs.real("factor")}};
    const ValueId moments =
        insertions.add(shift, ops::kChannelMoments, {x}, attrs, {kShiftRow + 1, shape[0]},
                       region_of_rows(channels, kShiftRow + 1));
    const ValueId row =
        insertions.add(shift, ops::kSlice, {moments},
                       {{"axis", std::int64_t{0}}, {"start", kShiftRow}, {"size", std::int64_t{1}}},
                       {1, shape[0]}, region_of_rows(channels, 1));
    Node& as_row = program.node(shift);
    as_row.op = &ops::kReshape;
    as_row.inputs = {row};
    as_row.attrs = {{"shape", shape}};
    for (const ValueId part : parts) program.node(part).inputs = {moments};
  }
  insertions.finish();
}

}  // namespace

namespace rewriting {
const RewriteDef kChannelMoments{.name = "channel_moments",
                                 .run = run,
                                 .makes = {&ops::kChannelMoments, &ops::kReshape, &ops::kSlice}};
}  // namespace rewriting

}  // namespace meshwork
