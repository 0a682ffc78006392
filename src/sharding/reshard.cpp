#include "sharding/reshard.h"

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include "base/check.h"

namespace meshwork {
namespace {

bool is_prefix(const std::vector<int>& list, const std::vector<int>& of) {
  return list.size() <= of.size() && std::equal(list.begin(), list.end(), of.begin());
}

/// The axis that may shard dimension `dim` next on the way to `to`, or -1.
int next_axis(const Layout& now, const Layout& to, std::size_t dim) {
  const auto& have = now.dims[dim];
  const auto& want = to.dims[dim];
  return is_prefix(have, want) && have.size() < want.size() ? want[have.size()] : -1;
}

/// The intervals of all parts of a dimension.
std::vector<Interval> intervals_of(const Layout& layout, std::size_t dim, std::int64_t extent,
                                   const Mesh& mesh) {
  return has_halo(layout, dim) ? layout.halos[dim] : blocks_of(extent, layout.dims[dim], mesh);
}

/// Whether every device holds along `dim` all that it holds in `to`.
bool holds(const Layout& from, const Layout& to, std::size_t dim, const Shape& shape,
           const Mesh& mesh) {
  const auto have = intervals_of(from, dim, shape[dim], mesh);
  const auto want = intervals_of(to, dim, shape[dim], mesh);
  return std::equal(have.begin(), have.end(), want.begin(), want.end(),
                    [](const Interval& a, const Interval& b) { return contains(a, b); });
}

/// Whether a layout with halos can be cut down to `to`.
bool can_cut(const Layout& from, const Layout& to, const Shape& shape, const Mesh& mesh) {
  if (from.dims != to.dims || from.partial != to.partial) return false;
  for (std::size_t d = 0; d < shape.size(); ++d) {
    if (!holds(from, to, d, shape, mesh)) return false;
  }
  return true;
}

/// Finds the next single-axis move, the ones that shrink the tensor first.
class Planner {
 public:
  Planner(Layout from, const Layout& to, const Shape& shape, const Mesh& mesh)
      : now_(std::move(from)), to_(without_halos(to)), goal_(to), shape_(shape), mesh_(mesh) {}

  std::vector<ReshardStep> run() {
    if (now_ == goal_) return {};
    if (!now_.halos.empty()) {
      MW_CHECK(can_cut(now_, goal_, shape_, mesh_), "{} does not hold {}", to_string(now_, mesh_),
               to_string(goal_, mesh_));
    } else {
      slice_to_halos();
      while (!(now_ == to_)) {
        MW_CHECK(scatter() || reduce() || slice() || exchange() || gather() || keep_one(),
                 "reshard is stuck");
      }
    }
    for (std::size_t d = 0; d < shape_.size(); ++d) finish(d);
    return std::move(steps_);
  }

 private:
  /// Where a dimension is whole on every device, a tile with its halo is a slice of it.
  void slice_to_halos() {
    for (std::size_t d = 0; d < shape_.size(); ++d) {
      if (!has_halo(goal_, d) || !now_.dims[d].empty()) continue;
      const auto& axes = goal_.dims[d];
      if (std::any_of(axes.begin(), axes.end(), [&](int axis) {
            return is_partial(now_, axis) || dim_of_axis(now_, axis) >= 0;
          })) {
        continue;
      }
      now_.dims[d] = axes;
      set_halo(now_, d, goal_.halos[d]);
      set_halo(to_, d, goal_.halos[d]);
      steps_.push_back({.kind = StepKind::kSlice,
                        .axes = axes,
                        .dim = static_cast<int>(d),
                        .to_dim = -1,
                        .after = now_});
    }
  }

  /// From tiles to the intervals that are wanted of a dimension.
  void finish(std::size_t d) {
    const auto have = intervals_of(now_, d, shape_[d], mesh_);
    const auto want = intervals_of(goal_, d, shape_[d], mesh_);
    if (have == want) return;
    const bool cuts = holds(now_, goal_, d, shape_, mesh_);
    set_halo(now_, d, has_halo(goal_, d) ? want : std::vector<Interval>{});
    steps_.push_back({.kind = cuts ? StepKind::kSlice : StepKind::kHaloExchange,
                      .axes = now_.dims[d],
                      .dim = static_cast<int>(d),
                      .to_dim = -1,
                      .after = now_});
  }

  bool scatter() {
    for (std::size_t d = 0; d < now_.dims.size(); ++d) {
      const int axis = next_axis(now_, to_, d);
      if (axis < 0 || !is_partial(now_, axis)) continue;
      std::erase(now_.partial, axis);
      now_.dims[d].push_back(axis);
      record(StepKind::kReduceScatter, axis, static_cast<int>(d));
      return true;
    }
    return false;
  }

  bool reduce() {
    for (const int axis : now_.partial) {
      if (is_partial(to_, axis) || dim_of_axis(to_, axis) >= 0) continue;
      std::erase(now_.partial, axis);
      record(StepKind::kAllReduce, axis, -1);
      return true;
    }
    return false;
  }

  bool slice() {
    for (std::size_t d = 0; d < now_.dims.size(); ++d) {
      const int axis = next_axis(now_, to_, d);
      if (axis < 0 || dim_of_axis(now_, axis) >= 0) continue;
      now_.dims[d].push_back(axis);
      record(StepKind::kSlice, axis, static_cast<int>(d));
      return true;
    }
    return false;
  }

  bool exchange() {
    for (std::size_t d = 0; d < now_.dims.size(); ++d) {
      const int axis = next_axis(now_, to_, d);
      const int source = axis < 0 ? -1 : dim_of_axis(now_, axis);
      if (source < 0) continue;
      auto& axes = now_.dims[static_cast<std::size_t>(source)];
      if (axes.back() != axis) continue;
      axes.pop_back();
      now_.dims[d].push_back(axis);
      record(StepKind::kAllToAll, axis, source, static_cast<int>(d));
      return true;
    }
    return false;
  }

  bool gather() {
    for (std::size_t d = 0; d < now_.dims.size(); ++d) {
      if (is_prefix(now_.dims[d], to_.dims[d])) continue;
      const int axis = now_.dims[d].back();
      now_.dims[d].pop_back();
      record(StepKind::kAllGather, axis, static_cast<int>(d));
      return true;
    }
    return false;
  }

  bool keep_one() {
    for (const int axis : to_.partial) {
      if (is_partial(now_, axis)) continue;
      if (now_.partial.empty()) now_.reduction = to_.reduction;
      now_.partial.push_back(axis);
      std::ranges::sort(now_.partial);
      record(StepKind::kKeepOne, axis, -1);
      return true;
    }
    return false;
  }

  /// Joins the move to the last one where one collective over more devices does both.
  void record(StepKind kind, int axis, int dim, int to_dim = -1) {
    const bool joins = !steps_.empty() && kind != StepKind::kAllToAll &&
                       steps_.back().kind == kind && steps_.back().dim == dim;
    if (!joins)
      steps_.push_back({.kind = kind, .axes = {}, .dim = dim, .to_dim = to_dim, .after = {}});
    auto& axes = steps_.back().axes;
    // Gathering goes from the minor axis out, all else from the major axis in.
    axes.insert(kind == StepKind::kAllGather ? axes.begin() : axes.end(), axis);
    steps_.back().after = now_;
  }

  Layout now_;
  Layout to_;  ///< the goal, with those halos only that are there
  const Layout& goal_;
  const Shape& shape_;
  const Mesh& mesh_;
  std::vector<ReshardStep> steps_;
};

}  // namespace

std::string_view to_string(StepKind kind) {
  constexpr std::array<std::string_view, 7> kNames{"slice",      "all_reduce", "reduce_scatter",
                                                   "all_to_all", "all_gather", "halo_exchange",
                                                   "keep_one"};
  return kNames[static_cast<std::size_t>(kind)];
}

std::vector<ReshardStep> reshard_steps(const Layout& from, const Layout& to, const Shape& shape,
                                       const Mesh& mesh) {
  MW_CHECK(from.dims.size() == to.dims.size());
  return Planner(from, to, shape, mesh).run();
}

namespace {

/// Of what devices hold after a halo exchange, the share that they did not hold before.
double missing_share(const ReshardStep& step, const Shape& shape, const Mesh& mesh) {
  const auto dim = static_cast<std::size_t>(step.dim);
  const auto blocks = blocks_of(shape[dim], step.axes, mesh);
  std::int64_t missing = 0;
  std::int64_t all = 0;
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    const Interval& wanted = step.after.halos[dim][i];
    missing += wanted.size() - intersection(wanted, blocks[i]).size();
    all += wanted.size();
  }
  return all == 0 ? 0 : static_cast<double>(missing) / static_cast<double>(all);
}

}  // namespace

bool is_reduction(const ReshardStep& step) {
  return step.kind == StepKind::kAllReduce || step.kind == StepKind::kReduceScatter;
}

bool sends(const ReshardStep& step) {
  return step.kind != StepKind::kSlice && step.kind != StepKind::kKeepOne;
}

double step_bytes(const ReshardStep& step, const TensorType& type, const Mesh& mesh) {
  const Shape& shape = type.shape;
  const std::size_t element_size = size_of(is_reduction(step) ? sum_dtype(type.dtype) : type.dtype);
  const double parts = mesh.parts(step.axes);
  // `after` is smaller than the tensor that is sent by the parts into which the step divides it.
  const double after =
      mean_local_elements(shape, step.after, mesh) * static_cast<double>(element_size);
  switch (step.kind) {
    case StepKind::kSlice:
    case StepKind::kKeepOne:
      return 0;
    case StepKind::kAllReduce:
      return 2 * after * (parts - 1) / parts;
    case StepKind::kReduceScatter:
      return after * (parts - 1);
    case StepKind::kAllToAll:
      return after * (parts - 1) / parts;
    case StepKind::kAllGather:
      return after * (parts - 1) / parts;
    case StepKind::kHaloExchange:
      return after * missing_share(step, shape, mesh);
  }
  return 0;
}

double reshard_bytes(const Layout& from, const Layout& to, const TensorType& type,
                     const Mesh& mesh) {
  double bytes = 0;
  for (const ReshardStep& step : reshard_steps(from, to, type.shape, mesh)) {
    bytes += step_bytes(step, type, mesh);
  }
  return bytes;
}

Source nearest_layout(std::span<const Layout> available, const Layout& to, const TensorType& type,
                      const Mesh& mesh) {
  const auto reaches = [&](const Layout& from) {
    if (!from.halos.empty()) return can_cut(from, to, type.shape, mesh);
    return to.reduction == Reduction::kSum ||
           std::all_of(to.partial.begin(), to.partial.end(),
                       [&](int axis) { return is_partial(from, axis); });
  };
  Source best{0, std::numeric_limits<double>::infinity()};
  for (std::size_t i = 0; i < available.size(); ++i) {
    if (!reaches(available[i])) continue;
    const double bytes = reshard_bytes(available[i], to, type, mesh);
    if (bytes < best.bytes) best = {i, bytes};
  }
  MW_CHECK(best.bytes < std::numeric_limits<double>::infinity(), "{} cannot be reached",
           to_string(to, mesh));
  return best;
}

}  // namespace meshwork
