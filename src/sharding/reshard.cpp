#include "sharding/reshard.h"

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include "base/check.h"

namespace meshwork {
namespace {

constexpr std::array<std::pair<StepKind, std::string_view>, 5> kNames{{
    {StepKind::kSlice, "slice"},
    {StepKind::kAllReduce, "all_reduce"},
    {StepKind::kReduceScatter, "reduce_scatter"},
    {StepKind::kAllToAll, "all_to_all"},
    {StepKind::kAllGather, "all_gather"},
}};

bool is_prefix(const std::vector<int>& list, const std::vector<int>& of) {
  return list.size() <= of.size() && std::equal(list.begin(), list.end(), of.begin());
}

/// The axis that may shard dimension `dim` next on the way to `to`, or -1.
int next_axis(const Layout& now, const Layout& to, std::size_t dim) {
  const auto& have = now.dims[dim];
  const auto& want = to.dims[dim];
  return is_prefix(have, want) && have.size() < want.size() ? want[have.size()] : -1;
}

/// Finds the next single-axis move, the ones that shrink the tensor first.
class Planner {
 public:
  Planner(Layout from, const Layout& to) : now_(std::move(from)), to_(to) {}

  std::vector<ReshardStep> run() {
    while (!(now_ == to_)) {
      MW_CHECK(scatter() || reduce() || slice() || exchange() || gather(), "reshard is stuck");
    }
    return std::move(steps_);
  }

 private:
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
  const Layout& to_;
  std::vector<ReshardStep> steps_;
};

}  // namespace

std::string_view to_string(StepKind kind) {
  for (const auto& [known, name] : kNames) {
    if (known == kind) return name;
  }
  return "";
}

StepKind step_kind(std::string_view name) {
  for (const auto& [kind, known] : kNames) {
    if (known == name) return kind;
  }
  MW_CHECK(false, "no reshard is called '{}'", name);
  return StepKind::kSlice;
}

std::vector<ReshardStep> reshard_steps(const Layout& from, const Layout& to) {
  MW_CHECK(from.dims.size() == to.dims.size());
  return Planner(from, to).run();
}

double step_bytes(const ReshardStep& step, const Shape& shape, std::size_t element_size,
                  const Mesh& mesh) {
  const double parts = mesh.parts(step.axes);
  // `after` is smaller than the tensor that is sent by the parts into which the step divides it.
  const double after =
      mean_local_elements(shape, step.after, mesh) * static_cast<double>(element_size);
  switch (step.kind) {
    case StepKind::kSlice:
      return 0;
    case StepKind::kAllReduce:
      return 2 * after * (parts - 1) / parts;
    case StepKind::kReduceScatter:
      return after * (parts - 1);
    case StepKind::kAllToAll:
      return after * (parts - 1) / parts;
    case StepKind::kAllGather:
      return after * (parts - 1) / parts;
  }
  return 0;
}

double reshard_bytes(const Layout& from, const Layout& to, const Shape& shape,
                     std::size_t element_size, const Mesh& mesh) {
  double bytes = 0;
  for (const ReshardStep& step : reshard_steps(from, to)) {
    bytes += step_bytes(step, shape, element_size, mesh);
  }
  return bytes;
}

Source nearest_layout(std::span<const Layout> available, const Layout& to, const TensorType& type,
                      const Mesh& mesh) {
  const auto reaches = [&](const Layout& from) {
    return std::all_of(to.partial.begin(), to.partial.end(),
                       [&](int axis) { return is_partial(from, axis); });
  };
  Source best{0, std::numeric_limits<double>::infinity()};
  for (std::size_t i = 0; i < available.size(); ++i) {
    if (!reaches(available[i])) continue;
    const double bytes = reshard_bytes(available[i], to, type.shape, size_of(type.dtype), mesh);
    if (bytes < best.bytes) best = {i, bytes};
  }
  MW_CHECK(best.bytes < std::numeric_limits<double>::infinity(), "{} cannot be reached",
           to_string(to, mesh));
  return best;
}

}  // namespace meshwork
