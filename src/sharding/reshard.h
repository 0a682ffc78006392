#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "graph/graph.h"
#include "sharding/layout.h"

namespace meshwork {

enum class StepKind {
  kSlice,
  kAllReduce,
  kReduceScatter,
  kAllToAll,
  kAllGather,
  kHaloExchange,
  kKeepOne,
};

/// "slice", "all_reduce", ...
std::string_view to_string(StepKind kind);

/// One move from a layout to the next; at most one collective.
struct ReshardStep {
  StepKind kind = StepKind::kSlice;
  std::vector<int> axes;  ///< major first
  int dim = -1;           ///< gathered (all_gather, all_to_all) or divided (slice, reduce_scatter),
                          ///< or given a halo
  int to_dim = -1;        ///< divided by an all_to_all
  Layout after;
};

/// The moves that turn `from` into `to`, by one table:
///   partial -> sharded     reduce_scatter      sharded -> replicated   all_gather
///   partial -> replicated  all_reduce          sharded -> elsewhere    all_to_all
///                                              replicated -> sharded   slice
///                                              replicated -> partial   keep_one
/// Halos come last, a dimension after the other, so that what is exchanged along one holds the halo
/// along those before it: tiles -> tiles with halos  halo_exchange. `to` may be partial, of sums,
/// where `from` is not: one device keeps the value, the others have 0. A layout with halos can only
/// be cut down to what it holds.
std::vector<ReshardStep> reshard_steps(const Layout& from, const Layout& to, const Shape& shape,
                                       const Mesh& mesh);

/// Bytes that one device sends, on average, of a tensor of this type, by algorithms that are
/// optimal in bandwidth. What is added up goes as sum_dtype of it.
double step_bytes(const ReshardStep& step, const TensorType& type, const Mesh& mesh);
double reshard_bytes(const Layout& from, const Layout& to, const TensorType& type,
                     const Mesh& mesh);

/// Whether a step adds up what devices have.
bool is_reduction(const ReshardStep& step);

/// Whether devices need anything of each other for it.
bool sends(const ReshardStep& step);

/// From which of the layouts that are there `to` is cheapest to reach; the first of several.
struct Source {
  std::size_t index = 0;
  double bytes = 0;
};
Source nearest_layout(std::span<const Layout> available, const Layout& to, const TensorType& type,
                      const Mesh& mesh);

}  // namespace meshwork
