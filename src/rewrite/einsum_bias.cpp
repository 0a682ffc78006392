// einsum(x, w) + bias, or relu of that -> einsum_bias(x, w, bias): kernels of products add and cut
// off what they have just computed. Where other elementwise nodes follow, the bias is added in
// their pass for nothing, and stays there.
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "graph/equation_text.h"
#include "graph/op_def.h"
#include "graph/readers.h"
#include "ops/ops.h"
#include "rewrite/rewrite.h"

namespace meshwork {
namespace {

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

  void join(ValueId sum) {
    const auto product = std::ranges::find_if(
        node(sum).inputs, [&](ValueId input) { return is_product_of(input, sum); });
    if (product == node(sum).inputs.end()) return;
    const ValueId bias = node(sum).inputs[product == node(sum).inputs.begin() ? 1 : 0];
    if (!is_bias(bias, *product)) return;
    const ValueId relu = relu_of(sum);
    const ValueId result = relu == kNoValue ? sum : relu;
    if (goes_on(result)) return;
    Attrs attrs = node(*product).attrs;
    attrs.set("relu", relu != kNoValue);
    std::vector<ValueId> operands = node(*product).inputs;
    operands.push_back(bias);
    Node& joined = program_.node(result);
    joined.op = &ops::kEinsumBias;
    joined.inputs = std::move(operands);
    joined.attrs = std::move(attrs);
  }

  /// A product that nothing but the sum reads, of the dtype of its operands.
  bool is_product_of(ValueId id, ValueId sum) const {
    const Node& product = node(id);
    return product.op == &ops::kEinsum && readers_.count(id) == 1 &&
           product.type == node(sum).type &&
           product.type.dtype == program_.type(product.inputs[0]).dtype &&
           product.phase == node(sum).phase;
  }

  /// One number for each place in the last dimensions of the product, which are those of its second
  /// factor alone: the whole of it is a stack of rows, each of which the bias is added to.
  bool is_bias(ValueId id, ValueId product) const {
    const Shape& bias = program_.global_shape(id);
    const Shape& all = program_.global_shape(product);
    if (program_.type(id).dtype != program_.type(product).dtype) return false;
    if (bias.empty() || bias.size() >= all.size() ||
        !std::equal(bias.rbegin(), bias.rend(), all.rbegin())) {
      return false;
    }
    const EquationText e = split_equation(node(product).attrs.text("equation"));
    const std::vector<std::string> y = factor_names(e.y);
    const auto last = y.end() - static_cast<std::ptrdiff_t>(bias.size());
    return std::all_of(y.begin(), last, [&](auto& name) { return !has_factor(e.w, name); }) &&
           std::all_of(last, y.end(), [&](auto& name) { return !has_factor(e.x, name); });
  }

  /// The relu that alone reads a value, in its phase; kNoValue: there is none.
  ValueId relu_of(ValueId id) const {
    const ValueId reader = readers_.only_node(id);
    if (reader == kNoValue || node(reader).op != &ops::kRelu) return kNoValue;
    return node(reader).phase == node(id).phase ? reader : kNoValue;
  }

  /// Whether a pass over elements follows.
  bool goes_on(ValueId id) const {
    return std::ranges::any_of(readers_.nodes(id), [&](ValueId reader) {
      return node(reader).op->elementwise && node(reader).phase == node(id).phase;
    });
  }

  Graph& program_;
  Readers readers_;
};

void run(Graph& program, const Target& /*target*/) { Joiner(program).run(); }

}  // namespace

namespace rewriting {
const RewriteDef kEinsumBias{.name = "einsum_bias", .run = run, .makes = {&ops::kEinsumBias}};
}  // namespace rewriting

}  // namespace meshwork
