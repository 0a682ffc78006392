// scale_offset_sums(x, dy) of the last dimension -> sums of the columns of x dy and of dy, where a
// pass computes dy or reads it: they are taken as it goes, so that dy need not be read again
#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "graph/fusible.h"
#include "graph/op_def.h"
#include "graph/readers.h"
#include "ops/ops.h"
#include "rewrite/insertions.h"
#include "rewrite/rewrite.h"

namespace meshwork {
namespace {

class Splitting {
 public:
  Splitting(Graph& program, const Target& target)
      : program_(program), target_(target), readers_(program), insertions_(program) {}

  void run() {
    for (const ValueId id : program_.ids()) {
      if (node(id).op == &ops::kScaleOffsetSums && pays(id)) split(id);
    }
    insertions_.finish();
  }

 private:
  const Node& node(ValueId id) const { return program_.node(id); }

  bool pays(ValueId id) const {
    const ValueId dy = node(id).inputs[1];
    const Shape& global = program_.global_shape(dy);
    const std::int64_t bytes = num_bytes({program_.type(dy).dtype, global});
    return node(id).attrs.integer("axis") + 1 == std::ssize(global) &&
           2 * global.back() <= target_.column_sums && bytes >= target_.launch_bytes &&
           is_of_pass(id, dy);
  }

  /// Whether a pass of the phase of `id` computes `dy`, or one over its elements reads it.
  bool is_of_pass(ValueId id, ValueId dy) const {
    const auto is_member = [&](ValueId member) {
      return is_fusible(program_, member) && node(member).phase == node(id).phase &&
             program_.global_shape(member) == program_.global_shape(dy);
    };
    return is_member(dy) || std::ranges::any_of(readers_.nodes(dy), is_member);
  }

  /// y [2, c]: the sums of x dy, then those of dy.
  void split(ValueId id) {
    const ValueId x = node(id).inputs[0], dy = node(id).inputs[1];
    const ValueId product = insertions_.add(id, ops::kMultiply, {x, dy}, {},
                                            program_.type(dy).shape, program_.regions[dy]);
    const std::array sums{add_sums(id, product), add_sums(id, dy)};
    if (is_read_by_rows(id)) return turn_to_rows(id, sums);
    const ValueId reduced = readers_.only_node(id);
    if (reduced != kNoValue && is_reduced_late(reduced)) {
      const std::array both{add_reduced(reduced, sums[0]), add_reduced(reduced, sums[1])};
      return turn_to_rows(reduced, both);
    }
    const std::vector<ValueId> rows{add_row(id, sums[0]), add_row(id, sums[1])};
    Node& both = program_.node(id);
    both.op = &ops::kConcatenate;
    both.inputs = rows;
    both.attrs = {{"axis", std::int64_t{0}}};
  }

  bool is_read_by_rows(ValueId both) const {
    return readers_.are_nodes(both) &&
           std::ranges::all_of(readers_.nodes(both),
                               [&](ValueId reader) { return is_row(reader); });
  }

  /// Whether updates alone wait for rows that are reduced, so that these may fill buckets.
  bool is_reduced_late(ValueId both) const {
    return node(both).op == &ops::kAllReduce && is_read_by_rows(both) && !is_read_soon(both);
  }

  /// Whether the backward pass computes more of a value than its form or its type.
  bool is_read_soon(ValueId id) const {
    return std::ranges::any_of(readers_.nodes(id), [&](ValueId reader) {
      if (node(reader).phase == Phase::kUpdate) return false;
      return node(reader).inputs.size() > 1 || is_read_soon(reader);
    });
  }

  /// One of the two rows.
  bool is_row(ValueId id) const {
    const Attrs& attrs = node(id).attrs;
    return node(id).op == &ops::kSlice && attrs.integer("axis") == 0 && attrs.integer("size") == 1;
  }

  ValueId add_sums(ValueId id, ValueId x) {
    const auto axes = axes_of_columns(program_.type(x).shape);
    const Region& both = program_.regions[id];
    return insertions_.add(id, ops::kReduceSum, {x}, {{"axes", axes}, {"keepdims", false}},
                           {node(id).type.shape.back()},
                           {{both.global.back()}, {both.offset.back()}});
  }

  /// What the devices' sums of one kind add up to, where both were reduced as one value.
  ValueId add_reduced(ValueId reduced, ValueId sums) {
    Node alone = node(reduced);
    alone.inputs = {sums};
    alone.type.shape = program_.type(sums).shape;
    return insertions_.add(reduced, std::move(alone), Region(program_.regions[sums]));
  }

  ValueId add_row(ValueId id, ValueId sums) {
    const Region& both = program_.regions[id];
    const Shape shape{1, node(id).type.shape.back()};
    return insertions_.add(id, ops::kReshape, {sums}, {{"shape", shape}}, shape,
                           {{1, both.global.back()}, {0, both.offset.back()}});
  }

  /// What read one of two rows reads the sums of its kind.
  void turn_to_rows(ValueId both, const std::array<ValueId, 2>& sums) {
    for (const ValueId reader : readers_.nodes(both)) {
      Node& slice = program_.node(reader);
      slice.inputs = {sums[static_cast<std::size_t>(slice.attrs.integer("start"))]};
      slice.op = &ops::kReshape;
      slice.attrs = {{"shape", slice.type.shape}};
    }
  }

  Graph& program_;
  const Target& target_;
  Readers readers_;
  Insertions insertions_;
};

void run(Graph& program, const Target& target) {
  if (target.column_sums > 0) Splitting(program, target).run();
}

}  // namespace

namespace rewriting {
const RewriteDef kColumnSums{
    .name = "column_sums",
    .run = run,
    .makes = {&ops::kConcatenate, &ops::kMultiply, &ops::kReduceSum, &ops::kReshape}};
}  // namespace rewriting

}  // namespace meshwork
