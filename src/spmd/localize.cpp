#include <algorithm>

#include "base/check.h"
#include "ops/ops.h"
#include "sharding/reshard.h"
#include "spmd/partition.h"

namespace meshwork {
namespace {

using Counts = std::vector<std::int64_t>;

Counts wide(const std::vector<int>& numbers) { return {numbers.begin(), numbers.end()}; }

std::int64_t sum(const Counts& counts) {
  std::int64_t total = 0;
  for (const std::int64_t count : counts) total += count;
  return total;
}

class Localizer {
 public:
  Localizer(const Partitioned& program, const Mesh& mesh, int device)
      : source_(program), mesh_(mesh), device_(device) {}

  Graph run() {
    const Graph& graph = source_.graph;
    for (const ValueId id : graph.ids()) {
      renamed_.push_back(graph.node(id).op == &kReshard ? move(id) : copy(id));
    }
    remap_names(graph, renamed_, result_);
    return std::move(result_);
  }

 private:
  ValueId rename(ValueId id) const { return renamed_[id]; }
  const Layout& layout(ValueId id) const { return source_.layouts[id]; }
  const Shape& shape(ValueId id) const { return source_.graph.type(id).shape; }

  Shape local(ValueId id, int device) const {
    return local_shape(shape(id), layout(id), mesh_, device);
  }

  ValueId copy(ValueId id) {
    Node node = remap(source_.graph.node(id), renamed_);
    node.gradient_of = kNoValue;
    node.type.shape = local(id, device_);
    return result_.append(std::move(node), local_window(shape(id), layout(id), mesh_, device_));
  }

  /// A node of the move `id`, which takes `input` and gives a value of `shape`.
  ValueId helper(ValueId id, const OpDef& op, ValueId input, Attrs attrs, Shape shape,
                 const Window* window = nullptr) {
    Node node = source_.graph.node(id);
    node.op = &op;
    node.inputs = {input};
    node.gradient_of = kNoValue;
    node.attrs = std::move(attrs);
    node.type.shape = std::move(shape);
    const Window whole = whole_window(node.type.shape);
    return result_.append(std::move(node), window != nullptr ? *window : whole);
  }

  /// The same for a collective, which tells all members what it needs of these.
  ValueId communicate(ValueId id, const OpDef& op, ValueId input, CollectiveArgs args, Shape shape,
                      const Window* window = nullptr) {
    const ValueId value = helper(id, op, input, {}, std::move(shape), window);
    args.axes = wide(step_->axes);
    args.members = wide(members_);
    if (is_reduction(*step_)) args.reduction = layout(source_.graph.node(id).inputs[0]).reduction;
    result_.node(value).collective = std::move(args);
    return value;
  }

  ValueId move(ValueId id) {
    const ValueId from = source_.graph.node(id).inputs[0];
    const Window window = local_window(shape(id), layout(id), mesh_, device_);
    const Shape result = local(id, device_);
    step_ = &source_.steps.at(id);
    members_ = mesh_.group(step_->axes, device_);
    switch (step_->kind) {
      case StepKind::kSlice:
        return slice(id, from, result, window);
      case StepKind::kAllReduce:
        return communicate(id, ops::kAllReduce, rename(from), {}, result, &window);
      case StepKind::kReduceScatter:
        return reduce_scatter(id, from, result, window);
      case StepKind::kAllGather:
        return all_gather(id, from, result, window);
      case StepKind::kAllToAll:
        return all_to_all(id, from, result, window);
      case StepKind::kHaloExchange:
        return halo_exchange(id, from, result, window);
    }
    return kNoValue;
  }

  std::size_t step_dim() const { return static_cast<std::size_t>(step_->dim); }

  /// The place of this device among the members.
  std::int64_t own_place() const {
    return std::find(members_.begin(), members_.end(), device_) - members_.begin();
  }

  /// Extents along `dim` of the parts that the members hold of a value.
  Counts extents(ValueId id, std::size_t dim) const {
    Counts result;
    for (const int member : members_) result.push_back(local(id, member)[dim]);
    return result;
  }

  /// Elements of blocks with these extents along `dim` of `like`.
  static Counts counts(const Counts& extents, Shape like, std::size_t dim) {
    Counts result;
    for (const std::int64_t extent : extents) {
      like[dim] = extent;
      result.push_back(num_elements(like));
    }
    return result;
  }

  /// Whether the blocks of a value along `dim` follow each other in memory, nothing but ones before
  /// it: on all devices, which are to come to the same nodes and so to the same order of calls.
  bool is_outermost(ValueId value, std::size_t dim) const {
    for (int device = 0; device < mesh_.num_devices(); ++device) {
      const Shape shape = local(value, device);
      const auto end = shape.begin() + static_cast<std::ptrdiff_t>(dim);
      if (std::any_of(shape.begin(), end, [](std::int64_t extent) { return extent != 1; })) {
        return false;
      }
    }
    return true;
  }

  /// `from`, the part of this device of shape `shape`, block after block along `dim`.
  ValueId pack(ValueId id, ValueId from, const Shape& shape, std::size_t dim,
               const Counts& extents) {
    const ValueId input = rename(from);
    if (is_outermost(from, dim)) return input;
    return helper(id, ops::kPack, input,
                  {{"dim", static_cast<std::int64_t>(dim)}, {"extents", extents}},
                  {num_elements(shape)});
  }

  ValueId unpack(ValueId id, ValueId input, const Shape& shape, std::size_t dim,
                 const Counts& extents, const Window& window) {
    return helper(id, ops::kUnpack, input,
                  {{"dim", static_cast<std::int64_t>(dim)}, {"extents", extents}, {"shape", shape}},
                  shape, &window);
  }

  ValueId slice(ValueId id, ValueId from, const Shape& result, const Window& window) {
    const std::size_t dim = step_dim();
    const Window old = local_window(shape(from), layout(from), mesh_, device_);
    const std::int64_t start = result[dim] == 0 ? 0 : window.offset[dim] - old.offset[dim];
    return helper(
        id, ops::kSlice, rename(from),
        {{"axis", static_cast<std::int64_t>(dim)}, {"start", start}, {"size", result[dim]}}, result,
        &window);
  }

  ValueId reduce_scatter(ValueId id, ValueId from, const Shape& result, const Window& window) {
    const std::size_t dim = step_dim();
    const Shape whole = local(from, device_);
    const Counts parts = extents(id, dim);
    const ValueId packed = pack(id, from, whole, dim, parts);
    // Block i has the shape of the result but for its extent along `dim`: one block, no unpacking.
    return communicate(id, ops::kReduceScatter, packed,
                       {.own = own_place(), .counts = counts(parts, result, dim)}, result, &window);
  }

  ValueId all_gather(ValueId id, ValueId from, const Shape& result, const Window& window) {
    const std::size_t dim = step_dim();
    const Counts parts = extents(from, dim);
    const CollectiveArgs args{.own = own_place(), .counts = counts(parts, result, dim)};
    if (is_outermost(id, dim)) {
      return communicate(id, ops::kAllGather, rename(from), args, result, &window);
    }
    const ValueId flat =
        communicate(id, ops::kAllGather, rename(from), args, {num_elements(result)});
    return unpack(id, flat, result, dim, parts, window);
  }

  ValueId all_to_all(ValueId id, ValueId from, const Shape& result, const Window& window) {
    const std::size_t gathered = step_dim();
    const auto divided = static_cast<std::size_t>(step_->to_dim);
    const Shape mine = local(from, device_);
    const Counts sent = extents(id, divided);         // of my part, to each member
    const Counts received = extents(from, gathered);  // of the result, from each member
    const CollectiveArgs args{.own = own_place(),
                              .counts = counts(sent, mine, divided),
                              .recv_counts = counts(received, result, gathered)};
    const ValueId packed = pack(id, from, mine, divided, sent);
    if (is_outermost(id, gathered)) {
      return communicate(id, ops::kAllToAll, packed, args, result, &window);
    }
    const ValueId flat = communicate(id, ops::kAllToAll, packed, args, {num_elements(result)});
    return unpack(id, flat, result, gathered, received, window);
  }

  /// What member `owner` has of what member `reader` wants along `dim`.
  Interval piece(ValueId from, ValueId to, std::size_t dim, int owner, int reader) const {
    return intersection(interval_of(shape(to), layout(to), dim, mesh_, reader),
                        interval_of(shape(from), layout(from), dim, mesh_, owner));
  }

  /// Every member sends the others what they miss of their tiles with halos; its own part of its
  /// tile never leaves it. Members stand in the order of their tiles.
  ValueId halo_exchange(ValueId id, ValueId from, const Shape& result, const Window& window) {
    const std::size_t dim = step_dim();
    const Shape mine = local(from, device_);
    const std::int64_t begin = interval_of(shape(from), layout(from), dim, mesh_, device_).begin;
    const auto own = static_cast<std::size_t>(own_place());
    Counts starts;
    Counts sent;
    Counts joined;
    for (const int member : members_) {
      const Interval out = piece(from, id, dim, device_, member);
      starts.push_back(out.begin - begin);
      sent.push_back(member == device_ ? 0 : out.size());
      joined.push_back(piece(from, id, dim, member, device_).size());
    }
    Counts received = joined;
    received[own] = 0;
    const Counts send_counts = counts(sent, mine, dim);
    const Counts recv_counts = counts(received, result, dim);
    const ValueId packed =
        helper(id, ops::kHaloPack, rename(from),
               {{"dim", static_cast<std::int64_t>(dim)}, {"starts", starts}, {"extents", sent}},
               {sum(send_counts)});
    const ValueId pieces =
        communicate(id, ops::kAllToAll, packed,
                    {.own = own_place(), .counts = send_counts, .recv_counts = recv_counts},
                    {sum(recv_counts)});
    const ValueId whole = helper(id, ops::kHaloUnpack, rename(from),
                                 {{"dim", static_cast<std::int64_t>(dim)},
                                  {"start", starts[own]},
                                  {"extents", joined},
                                  {"own", static_cast<std::int64_t>(own)}},
                                 result, &window);
    result_.node(whole).inputs.push_back(pieces);
    return whole;
  }

  const Partitioned& source_;
  const Mesh& mesh_;
  int device_;
  Graph result_;
  Renaming renamed_;
  const ReshardStep* step_ = nullptr;  ///< of the reshard at hand
  std::vector<int> members_;           ///< who takes part in it
};

}  // namespace

Graph localize(const Partitioned& program, const Mesh& mesh, int device) {
  return Localizer(program, mesh, device).run();
}

}  // namespace meshwork
