// input [m, k], of which products of halves and gradients x^T dy alone are computed -> the same in
// two panels, one for each half of k: threads write and read one of them, and no line of memory
// goes from core to core.
#include <algorithm>

#include "graph/dim_rule.h"
#include "graph/op_def.h"
#include "graph/readers.h"
#include "graph/views.h"
#include "ops/ops.h"
#include "rewrite/rewrite.h"

namespace meshwork {
namespace {

constexpr std::int64_t kPanels = 2;

/// Columns of a narrower gradient would be seen as rows of its transpose.
constexpr std::int64_t kFewestColumns = 2;

class Finder {
 public:
  explicit Finder(const Graph& program)
      : program_(program), reads_(count_readers(program)), readers_(reading_nodes(program)) {}

  bool may_be_in_panels(ValueId input) {
    of_halves_ = 0;
    return program_.type(input).dtype == DType::kFloat32 && reads_in_panels(input) &&
           of_halves_ > 0;
  }

 private:
  static std::size_t slot(ValueId id) { return static_cast<std::size_t>(id); }

  bool reads_in_panels(ValueId id) {
    const std::vector<ValueId>& readers = readers_[slot(id)];
    if (reads_[slot(id)] != static_cast<int>(readers.size())) return false;  // an output is, too
    return std::all_of(readers.begin(), readers.end(), [&](ValueId reader) {
      if (is_view(program_, reader)) return reads_in_panels(reader);
      const Node& node = program_.node(reader);
      return node.op == &ops::kEinsum && node.inputs[0] == id && node.inputs[1] != id &&
             node.type.dtype == DType::kFloat32 && (is_of_halves(node) || is_gradient(node));
    });
  }

  const Shape& shape(ValueId id) const { return program_.type(id).shape; }

  /// Of x [m, panels, k] and w [panels, k, n].
  bool is_of_halves(const Node& product) {
    const Shape &x = shape(product.inputs[0]), &w = shape(product.inputs[1]);
    if (x.size() != 3 || w.size() != 3 || x[1] != kPanels || x[2] < 2) return false;
    const DimRule rule = rule_of(program_, product);
    const DimRule::Operand &of_x = rule.inputs[0], &of_w = rule.inputs[1];
    const bool fits = of_x[1] == of_w[0] && of_x[2] == of_w[1];
    of_halves_ += fits ? 1 : 0;
    return fits;
  }

  /// Of x [k, m] and dy [k, n].
  bool is_gradient(const Node& product) const {
    const Shape &x = shape(product.inputs[0]), &dy = shape(product.inputs[1]);
    if (x.size() != 2 || dy.size() != 2 || dy[1] < kFewestColumns) return false;
    const DimRule rule = rule_of(program_, product);
    const DimRule::Operand &of_x = rule.inputs[0], &of_dy = rule.inputs[1];
    return of_x[0] == of_dy[0] && rule.output[0] == of_x[1] && rule.output[1] == of_dy[1] &&
           x[1] % kPanels == 0;
  }

  const Graph& program_;
  std::vector<int> reads_;
  std::vector<std::vector<ValueId>> readers_;
  int of_halves_ = 0;
};

void run(Graph& program) {
  Finder finder(program);
  for (std::size_t i = 0; i < program.nodes.size(); ++i) {
    if (program.nodes[i].op != &ops::kInput) continue;
    if (finder.may_be_in_panels(static_cast<ValueId>(i))) {
      program.nodes[i].attrs.set("panels", kPanels);
    }
  }
}

}  // namespace

namespace rewriting {
const RewriteDef kInputPanels{.name = "input_panels", .run = run};
}  // namespace rewriting

}  // namespace meshwork
