// concatenate(x, 0) + concatenate(0, y) -> concatenate(x, y): the gradient of a tensor that a
// program reads in parts, as a normalization does the sums of its channels.
#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "graph/op_def.h"
#include "graph/readers.h"
#include "ops/ops.h"
#include "rewrite/rewrite.h"
#include "rewrite/sum_terms.h"

namespace meshwork {
namespace {

/// What stands in [begin, end) of a dimension.
struct Part {
  std::int64_t begin = 0, end = 0;
  ValueId value = kNoValue;
};

class Joiner {
 public:
  explicit Joiner(Graph& program)
      : program_(program), readers_(program), joined_(program.nodes.size(), false) {}

  void run() {
    for (ValueId id = program_.end() - 1; id >= 0; --id) {
      if (node(id).op == &ops::kAdd && !joined_[id]) join(id);
    }
  }

 private:
  const Node& node(ValueId id) const { return program_.node(id); }

  bool is_zero(ValueId id) const {
    return node(id).op == &ops::kConstant && node(id).attrs.real("value") == 0;
  }

  void add_parts(ValueId concatenation, std::size_t axis, std::vector<Part>& parts) const {
    std::int64_t begin = 0;
    for (const ValueId input : node(concatenation).inputs) {
      const std::int64_t end = begin + program_.type(input).shape[axis];
      if (!is_zero(input)) parts.push_back({begin, end, input});
      begin = end;
    }
  }

  void join(ValueId sum) {
    SumTerms found;
    if (!find_sum_terms(program_, readers_, sum, ops::kConcatenate, found)) return;
    const std::int64_t axis = node(found.terms.front()).attrs.integer("axis");
    std::vector<Part> parts;
    for (const ValueId term : found.terms) {
      if (node(term).attrs.integer("axis") != axis || program_.type(term) != program_.type(sum)) {
        return;
      }
      add_parts(term, static_cast<std::size_t>(axis), parts);
    }
    const std::int64_t extent = program_.type(sum).shape[static_cast<std::size_t>(axis)];
    const auto values = side_by_side(std::move(parts), extent);
    if (!values) return;
    for (const ValueId id : found.sums) joined_[id] = true;
    Node& joined = program_.node(sum);
    joined.op = &ops::kConcatenate;
    joined.inputs = *values;
    joined.attrs = {{"axis", axis}};
  }

  /// The parts from the first to the last, where each begins at the end of the one before and the
  /// last one ends at `extent`; else some are added up, or something is left out.
  static std::optional<std::vector<ValueId>> side_by_side(std::vector<Part> parts,
                                                          std::int64_t extent) {
    std::ranges::sort(parts, {}, &Part::begin);
    std::vector<ValueId> values;
    std::int64_t end = 0;
    for (const Part& part : parts) {
      if (part.begin != end) return std::nullopt;
      end = part.end;
      values.push_back(part.value);
    }
    return end == extent ? std::optional(std::move(values)) : std::nullopt;
  }

  Graph& program_;
  Readers readers_;
  ValueMap<bool> joined_;  ///< within a sum that has become a concatenation
};

void run(Graph& program, const Target& /*target*/) { Joiner(program).run(); }

}  // namespace

namespace rewriting {
const RewriteDef kJoinParts{.name = "join_parts", .run = run, .makes = {&ops::kConcatenate}};
}  // namespace rewriting

}  // namespace meshwork
