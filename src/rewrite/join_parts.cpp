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

namespace meshwork {
namespace {

/// What stands in [begin, end) of a dimension.
struct Part {
  std::int64_t begin = 0, end = 0;
  ValueId value = kNoValue;
};

class Joiner {
 public:
  explicit Joiner(Graph& program) : program_(program), readers_(program) {}

  void run() {
    for (const ValueId id : program_.ids()) {
      if (node(id).op == &ops::kAdd) join(id);
    }
  }

 private:
  const Node& node(ValueId id) const { return program_.node(id); }

  bool is_zero(ValueId id) const {
    return node(id).op == &ops::kConstant && node(id).attrs.real("value") == 0;
  }

  /// Appends the concatenations of which `id` is the sum, where nothing else reads them. Whether it
  /// is one.
  bool find_terms(ValueId id, std::vector<ValueId>& terms) const {
    if (node(id).op == &ops::kConcatenate) {
      terms.push_back(id);
      return true;
    }
    return node(id).op == &ops::kAdd && std::ranges::all_of(node(id).inputs, [&](ValueId input) {
             return readers_.count(input) == 1 && find_terms(input, terms);
           });
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
    std::vector<ValueId> terms;
    if (!find_terms(sum, terms)) return;
    const std::int64_t axis = node(terms.front()).attrs.integer("axis");
    std::vector<Part> parts;
    for (const ValueId term : terms) {
      if (node(term).attrs.integer("axis") != axis || program_.type(term) != program_.type(sum)) {
        return;
      }
      add_parts(term, static_cast<std::size_t>(axis), parts);
    }
    const std::int64_t extent = program_.type(sum).shape[static_cast<std::size_t>(axis)];
    const auto values = side_by_side(std::move(parts), extent);
    if (!values) return;
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
};

void run(Graph& program, const Target& /*target*/) { Joiner(program).run(); }

}  // namespace

namespace rewriting {
const RewriteDef kJoinParts{.name = "join_parts", .run = run, .makes = {&ops::kConcatenate}};
}  // namespace rewriting

}  // namespace meshwork
