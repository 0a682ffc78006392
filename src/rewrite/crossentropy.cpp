// negate(take_along_axis(log_softmax(x), y)) -> crossentropy(x, y), and its gradient likewise,
// which is rounded to 16 bits at once where that is what is read: no value of the size of x stands
// between. Logits of 16 bits are read as they are, by the greatest of them as well.
#include <algorithm>
#include <optional>
#include <vector>

#include "graph/fusible.h"
#include "graph/op_def.h"
#include "graph/readers.h"
#include "ops/ops.h"
#include "rewrite/rewrite.h"

namespace meshwork {
namespace {

/// What takes the place of node `id`.
struct Replacement {
  ValueId id;
  const OpDef* op;
  std::vector<ValueId> inputs;
  Attrs attrs = {};
};

class Finder {
 public:
  explicit Finder(const Graph& program) : program_(program), readers_(program) {}

  /// For all that reads the logarithms `log`, if all of it can be replaced; else nothing.
  std::vector<Replacement> replace(ValueId log) const {
    if (node(log).op != &ops::kLogSoftmax || !is_last_axis(log) || !readers_.are_nodes(log)) {
      return {};
    }
    std::vector<Replacement> found;
    for (const ValueId reader : readers_.nodes(log)) {
      const auto replacement = node(reader).op == &ops::kTakeAlongAxis ? loss(log, reader)
                               : node(reader).op == &ops::kExp         ? gradient(log, reader)
                                                                       : std::nullopt;
      if (!replacement) return {};
      found.push_back(*replacement);
    }
    return found;
  }

 private:
  const Node& node(ValueId id) const { return program_.node(id); }
  const Shape& global(ValueId id) const { return program_.global_shape(id); }

  bool is_last_axis(ValueId id) const {
    return node(id).attrs.integer("axis") + 1 == static_cast<std::int64_t>(global(id).size());
  }

  /// The node of `op` that alone reads `id`, or kNoValue.
  ValueId only_reader(ValueId id, const OpDef& op) const {
    const ValueId reader = readers_.only_node(id);
    return reader != kNoValue && node(reader).op == &op ? reader : kNoValue;
  }

  /// The logits whose logarithms are `log`, before they were widened.
  ValueId logits(ValueId log) const {
    const ValueId x = node(log).inputs[0];
    return is_widening(program_, x) ? node(x).inputs[0] : x;
  }

  std::optional<Replacement> loss(ValueId log, ValueId pick) const {
    const ValueId negate = only_reader(pick, ops::kNegate);
    if (negate == kNoValue) return std::nullopt;
    return Replacement{negate, &ops::kCrossentropy, {logits(log), node(pick).inputs[1]}};
  }

  /// a - exp(log) sum a, where a is d on the labels and 0 elsewhere.
  std::optional<Replacement> gradient(ValueId log, ValueId exp) const {
    const ValueId share = only_reader(exp, ops::kMultiply);
    if (share == kNoValue) return std::nullopt;
    const ValueId result = only_reader(share, ops::kSubtract);
    if (result == kNoValue || node(result).inputs[1] != share) return std::nullopt;
    const ValueId target = node(result).inputs[0];
    const std::vector<ValueId>& factors = node(share).inputs;
    const ValueId sum = factors[0] == exp ? factors[1] : factors[0];
    if (!is_sum_of(sum, target) || readers_.count(sum) != 1 || readers_.count(target) != 2) {
      return std::nullopt;
    }
    const auto operands = on_labels(target);
    if (!operands || global(target) != global(log)) return std::nullopt;
    const auto& [labels, d] = *operands;
    Replacement found{result, &ops::kCrossentropyGradient, {logits(log), labels}};
    if (node(d).op->is_constant) {
      found.attrs.set("d", node(d).attrs.real("value"));
    } else {
      found.inputs.push_back(d);
    }
    const ValueId rounded = only_reader(result, ops::kCast);
    if (rounded != kNoValue && is_narrow_float(node(rounded).type.dtype)) found.id = rounded;
    const DType dtype = node(found.id).type.dtype;
    if (dtype != node(found.inputs[0]).type.dtype) {
      found.attrs.set("dtype", std::string(to_string(dtype)));
    }
    return found;
  }

  /// Whether `id` is the sum of `x` along its last dimension, which stays.
  bool is_sum_of(ValueId id, ValueId x) const {
    return sums_rows(program_, id) && node(id).inputs[0] == x;
  }

  /// The labels y and d [.., 1] if `id` is d one_hot(y).
  std::optional<std::pair<ValueId, ValueId>> on_labels(ValueId id) const {
    if (node(id).op != &ops::kMultiply) return std::nullopt;
    ValueId d = node(id).inputs[0], hit = node(id).inputs[1];
    if (node(d).op == &ops::kOneHot) std::swap(d, hit);
    if (node(hit).op != &ops::kOneHot || global(hit) != global(id)) return std::nullopt;
    Shape column = global(id);
    column.back() = 1;
    if (global(d) != column) return std::nullopt;
    return std::pair(node(hit).inputs[0], d);
  }

  const Graph& program_;
  Readers readers_;
};

/// Widened numbers have their greatest where the numbers have it.
void read_narrow(const Graph& program, Node& node) {
  if (node.op != &ops::kArgMax || !is_widening(program, node.inputs[0])) return;
  node.inputs[0] = program.node(node.inputs[0]).inputs[0];
}

void run(Graph& program, const Target& /*target*/) {
  std::vector<Replacement> all;
  const Finder finder(program);
  for (const ValueId id : program.ids()) {
    for (Replacement& found : finder.replace(id)) all.push_back(std::move(found));
    read_narrow(program, program.node(id));
  }
  for (Replacement& replacement : all) {
    Node& node = program.node(replacement.id);
    node.op = replacement.op;
    node.inputs = std::move(replacement.inputs);
    node.attrs = std::move(replacement.attrs);
  }
}

}  // namespace

namespace rewriting {
const RewriteDef kCrossentropy{.name = "crossentropy",
                               .run = run,
                               .makes = {&ops::kCrossentropy, &ops::kCrossentropyGradient}};
}  // namespace rewriting

}  // namespace meshwork
