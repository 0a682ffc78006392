// part(x op number) -> part(x) op number, part(concatenation) -> what stands there: channels'
// averages that were put side by side to be added up across devices at once, and their gradients,
// go from pass to pass without a kernel between.
#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "graph/fusible.h"
#include "graph/op_def.h"
#include "graph/readers.h"
#include "graph/views.h"
#include "ops/ops.h"
#include "rewrite/insertions.h"
#include "rewrite/rewrite.h"

namespace meshwork {
namespace {

class EarlyParts {
 public:
  explicit EarlyParts(Graph& program)
      : program_(program), end_(program.end()), readers_(program), insertions_(program) {
    for (const ValueId id : program.ids()) {
      same_.push_back(id);
      was_part_.push_back(is_part(id));
    }
  }

  void run() {
    for (const ValueId id : ValueRange(0, end_)) {
      for (ValueId& input : program_.node(id).inputs) input = same_[input];
      if (was_part_[id]) take_early(id);
    }
    insertions_.finish();
  }

 private:
  const Node& node(ValueId id) const { return program_.node(id); }

  /// Whether a node shows some rows of what it reads, the same on all devices, or all of it in
  /// another shape. A slice that gives a device its share, of as many rows on all devices together
  /// as it reads, shows others other rows.
  bool is_part(ValueId id) const {
    const Node& part = node(id);
    if (part.op == &ops::kReshape) return true;
    if (part.op != &ops::kSlice || part.attrs.integer("axis") != 0) return false;
    const std::int64_t rows = program_.global_shape(id)[0];
    return rows == part.attrs.integer("size") && rows != program_.global_shape(part.inputs[0])[0];
  }

  void take_early(ValueId part) {
    const ValueId whole = node(part).inputs[0];
    if (const auto place = computed_of(whole)) {
      Node computed = node(whole);
      computed.inputs[*place] = part_of(part, computed.inputs[*place]);
      Node& changed = program_.node(part);
      changed.op = computed.op;
      changed.attrs = std::move(computed.attrs);
      changed.inputs = std::move(computed.inputs);
    } else if (const auto known = known_part(part, whole)) {
      same_[part] = *known;
    }
  }

  /// Which operand of an elementwise node has its shape, where all others are numbers, and nothing
  /// but parts of its phase reads it. Of more bytes, on all devices together, parts are copies.
  std::optional<std::size_t> computed_of(ValueId id) const {
    const bool is_here = id < end_ && is_fusible(program_, id) && readers_.are_nodes(id) &&
                         std::ranges::all_of(readers_.nodes(id), [&](ValueId reader) {
                           return was_part_[reader] && node(reader).phase == node(id).phase;
                         });
    const Shape& shape = program_.global_shape(id);
    if (!is_here || num_bytes({node(id).type.dtype, shape}) > kSmallWhole) return std::nullopt;
    std::optional<std::size_t> place;
    for (std::size_t i = 0; i < node(id).inputs.size(); ++i) {
      const ValueId input = node(id).inputs[i];
      if (is_number(program_, input) && program_.global_shape(input).empty()) continue;
      if (place || program_.type(input).dtype != node(id).type.dtype) return std::nullopt;
      if (program_.global_shape(input) != shape) return std::nullopt;
      place = i;
    }
    return place;
  }

  /// What a node like `part` shows of another value.
  ValueId part_of(ValueId part, ValueId whole) {
    if (const auto known = known_part(part, whole)) return *known;
    Node taken = node(part);
    taken.inputs = {whole};
    return insertions_.add(part, std::move(taken), Region(program_.regions[part]));
  }

  /// The same, if it is there: an operand of a concatenation, or what was reshaped before.
  std::optional<ValueId> known_part(ValueId part, ValueId whole) const {
    if (node(part).op == &ops::kSlice) return operand_at(part, whole);
    while (node(whole).op == &ops::kReshape) whole = node(whole).inputs[0];
    const bool is_same = program_.global_shape(whole) == program_.global_shape(part);
    return is_same ? std::optional(whole) : std::nullopt;
  }

  std::optional<ValueId> operand_at(ValueId part, ValueId concatenation) const {
    const Node& whole = node(concatenation);
    if (whole.op != &ops::kConcatenate || whole.attrs.integer("axis") != 0) return std::nullopt;
    std::int64_t begin = 0;
    for (const ValueId operand : whole.inputs) {
      if (begin == node(part).attrs.integer("start") &&
          program_.global_shape(operand) == program_.global_shape(part)) {
        return operand;
      }
      begin += program_.type(operand).shape[0];
    }
    return std::nullopt;
  }

  Graph& program_;
  ValueId end_;  ///< of the nodes that were there
  Readers readers_;
  ValueMap<bool> was_part_;
  ValueMap<ValueId> same_;  ///< the value that nodes are to read instead of each
  Insertions insertions_;
};

void run(Graph& program, const Target& /*target*/) { EarlyParts(program).run(); }

}  // namespace

namespace rewriting {
const RewriteDef kEarlyParts{.name = "early_parts", .run = run};
}  // namespace rewriting

}  // namespace meshwork
