#include <algorithm>
#include <optional>

#include "base/block_counts.h"
#include "base/check.h"
#include "ops/ops.h"
#include "sharding/reshard.h"
#include "spmd/partition.h"

namespace meshwork {
namespace {

using Counts = std::vector<std::int64_t>;

Counts wide(const std::vector<int>& numbers) { return {numbers.begin(), numbers.end()}; }

std::int64_t number(std::size_t index) { return static_cast<std::int64_t>(index); }

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
    return result_.append(std::move(node), local_region(shape(id), layout(id), mesh_, device_));
  }

  /// A node of the move at hand, which takes `input` and gives the result of the move, or these
  /// elements of it in another order.
  ValueId emit(const OpDef& op, ValueId input, Attrs attrs,
               std::optional<std::int64_t> elements = {}) {
    Node node = source_.graph.node(id_);
    node.op = &op;
    node.inputs = {input};
    node.gradient_of = kNoValue;
    node.attrs = std::move(attrs);
    node.type.shape = elements ? Shape{*elements} : result_shape_;
    Region region = elements ? whole_region(node.type.shape) : region_;
    return result_.append(std::move(node), std::move(region));
  }

  /// The same for a collective, which tells all members what it needs of these.
  ValueId communicate(const OpDef& op, ValueId input, CollectiveArgs args,
                      std::optional<std::int64_t> elements = {}) {
    const ValueId value = emit(op, input, {}, elements);
    args.axes = wide(step_->axes);
    args.members = wide(members_);
    for (int device = 0; device < mesh_.num_devices(); ++device) {
      args.most_elements = std::max(args.most_elements, num_elements(local(id_, device)));
    }
    if (is_reduction(*step_)) args.reduction = layout(from_).reduction;
    result_.node(value).collective = std::move(args);
    return value;
  }

  ValueId move(ValueId id) {
    id_ = id;
    from_ = source_.graph.node(id).inputs[0];
    region_ = local_region(shape(id), layout(id), mesh_, device_);
    result_shape_ = local(id, device_);
    step_ = &source_.steps.at(id);
    members_ = mesh_.group(step_->axes, device_);
    switch (step_->kind) {
      case StepKind::kSlice:
        return slice();
      case StepKind::kAllReduce:
        return communicate(ops::kAllReduce, rename(from_), {});
      case StepKind::kReduceScatter:
        return reduce_scatter();
      case StepKind::kAllGather:
        return all_gather();
      case StepKind::kAllToAll:
        return all_to_all();
      case StepKind::kHaloExchange:
        return halo_exchange();
      case StepKind::kKeepOne:
        return keep_one();
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

  /// What this device has of the operand, block after block along `dim`.
  ValueId pack(std::size_t dim, const Counts& extents) {
    const ValueId input = rename(from_);
    if (is_outermost(from_, dim)) return input;
    return emit(ops::kPack, input, {{"dim", number(dim)}, {"extents", extents}},
                num_elements(local(from_, device_)));
  }

  /// The result from a collective that gives it block after block along `dim`.
  ValueId unpacked(const OpDef& op, ValueId input, const CollectiveArgs& args, std::size_t dim,
                   const Counts& extents) {
    if (is_outermost(id_, dim)) return communicate(op, input, args);
    const ValueId flat = communicate(op, input, args, num_elements(result_shape_));
    return emit(ops::kUnpack, flat,
                {{"dim", number(dim)}, {"extents", extents}, {"shape", result_shape_}});
  }

  ValueId slice() {
    const std::size_t dim = step_dim();
    const std::int64_t size = result_shape_[dim];
    const Region old = local_region(shape(from_), layout(from_), mesh_, device_);
    const std::int64_t start = size == 0 ? 0 : region_.offset[dim] - old.offset[dim];
    return emit(ops::kSlice, rename(from_),
                {{"axis", number(dim)}, {"start", start}, {"size", size}});
  }

  ValueId reduce_scatter() {
    const std::size_t dim = step_dim();
    const Counts parts = extents(id_, dim);
    // Block i has the shape of the result but for its extent along `dim`: one block, no unpacking.
    return communicate(ops::kReduceScatter, pack(dim, parts),
                       {.own = own_place(), .counts = counts(parts, result_shape_, dim)});
  }

  ValueId all_gather() {
    const std::size_t dim = step_dim();
    const Counts parts = extents(from_, dim);
    const CollectiveArgs args{.own = own_place(), .counts = counts(parts, result_shape_, dim)};
    return unpacked(ops::kAllGather, rename(from_), args, dim, parts);
  }

  ValueId all_to_all() {
    const std::size_t gathered = step_dim();
    const auto divided = static_cast<std::size_t>(step_->to_dim);
    const Counts sent = extents(id_, divided);         // of my part, to each member
    const Counts received = extents(from_, gathered);  // of the result, from each member
    const CollectiveArgs args{.own = own_place(),
                              .counts = counts(sent, local(from_, device_), divided),
                              .recv_counts = counts(received, result_shape_, gathered)};
    return unpacked(ops::kAllToAll, pack(divided, sent), args, gathered, received);
  }

  /// What member `owner` has of what member `reader` wants along `dim`.
  Interval piece(std::size_t dim, int owner, int reader) const {
    return intersection(interval_of(shape(id_), layout(id_), dim, mesh_, reader),
                        interval_of(shape(from_), layout(from_), dim, mesh_, owner));
  }

  /// Every member sends the others what they miss of their tiles with halos; its own part of its
  /// tile never leaves it. Members stand in the order of their tiles.
  ValueId halo_exchange() {
    const std::size_t dim = step_dim();
    const Shape mine = local(from_, device_);
    const std::int64_t begin = interval_of(shape(from_), layout(from_), dim, mesh_, device_).begin;
    const auto own = static_cast<std::size_t>(own_place());
    Counts starts, sent, joined;
    for (const int member : members_) {
      const Interval out = piece(dim, device_, member);
      starts.push_back(out.begin - begin);
      sent.push_back(member == device_ ? 0 : out.size());
      joined.push_back(piece(dim, member, device_).size());
    }
    Counts received = joined;
    received[own] = 0;
    const CollectiveArgs args{.own = own_place(),
                              .counts = counts(sent, mine, dim),
                              .recv_counts = counts(received, result_shape_, dim)};
    const ValueId packed =
        emit(ops::kHaloPack, rename(from_),
             {{"dim", number(dim)}, {"starts", starts}, {"extents", sent}}, total(args.counts));
    const ValueId pieces = communicate(ops::kAllToAll, packed, args, total(args.recv_counts));
    const ValueId whole = emit(
        ops::kHaloUnpack, rename(from_),
        {{"dim", number(dim)}, {"start", starts[own]}, {"extents", joined}, {"own", number(own)}});
    result_.node(whole).inputs.push_back(pieces);
    return whole;
  }

  ValueId scalar(double value) {
    Node node = source_.graph.node(id_);
    node.op = &ops::kConstant;
    node.inputs.clear();
    node.type.shape.clear();
    node.attrs = ops::constant_attrs(value, node.type);
    return result_.append(std::move(node), whole_region({}));
  }

  /// All devices come to the same nodes, and so to the same order of calls.
  ValueId keep_one() {
    const ValueId keeps = scalar(own_place() == 0 ? 1 : 0), zero = scalar(0);
    const ValueId value = emit(ops::kSelect, rename(from_), {});
    result_.node(value).inputs = {keeps, rename(from_), zero};
    return value;
  }

  const Partitioned& source_;
  const Mesh& mesh_;
  int device_;
  Graph result_;
  Renaming renamed_;
  // Of the reshard at hand.
  ValueId id_ = kNoValue, from_ = kNoValue;
  const ReshardStep* step_ = nullptr;
  std::vector<int> members_;  ///< who takes part in it
  Shape result_shape_;        ///< on this device
  Region region_;
};

}  // namespace

Graph localize(const Partitioned& program, const Mesh& mesh, int device) {
  return Localizer(program, mesh, device).run();
}

}  // namespace meshwork
