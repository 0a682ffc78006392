// x1 w1 + x2 w2 + .. -> [x1 x2 ..] [w1; w2; ..], products of one form along what they sum over: the
// gradient of a kernel that a program uses many times, as a recurrent layer does in each step. The
// sum is not read and written once for each of them.
#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/join.h"
#include "graph/equation_text.h"
#include "graph/op_def.h"
#include "graph/readers.h"
#include "ops/ops.h"
#include "rewrite/insertions.h"
#include "rewrite/rewrite.h"
#include "rewrite/sum_terms.h"

namespace meshwork {
namespace {

/// Fewer are hardly worth a copy of their factors.
constexpr std::size_t kFewest = 4;

class Joiner {
 public:
  explicit Joiner(Graph& program)
      : program_(program),
        readers_(program),
        joined_(program.nodes.size(), false),
        insertions_(program) {}

  void run() {
    for (ValueId id = program_.end() - 1; id >= 0; --id) {
      if (node(id).op == &ops::kAdd && !joined_[id]) join(id);
    }
    insertions_.finish();
  }

 private:
  const Node& node(ValueId id) const { return program_.node(id); }

  /// Whether they differ in the values of their factors alone.
  bool are_alike(const std::vector<ValueId>& terms) const {
    const Node& first = node(terms.front());
    return std::ranges::all_of(terms, [&](ValueId id) {
      const Node& term = node(id);
      if (term.attrs != first.attrs || program_.type(id) != program_.type(terms[0])) return false;
      for (std::size_t i = 0; i < term.inputs.size(); ++i) {
        const ValueId one = term.inputs[i], other = first.inputs[i];
        const Region &of_one = program_.regions[one], &of_other = program_.regions[other];
        if (program_.type(one) != program_.type(other) || of_one.global != of_other.global ||
            of_one.offset != of_other.offset) {
          return false;
        }
      }
      return true;
    });
  }

  /// To copy the factors takes less than to add up the products; sums of 16 bits are coarse, too.
  bool pays(ValueId product) const {
    const auto elements = [&](ValueId id) { return num_elements(program_.global_shape(id)); };
    const Node& term = node(product);
    return is_narrow_float(program_.type(product).dtype) ||
           elements(term.inputs[0]) + elements(term.inputs[1]) <= elements(product);
  }

  /// The factor that a product sums over; "" if there is none.
  static std::string summed_factor(const EquationText& equation) {
    for (const std::string& name : factor_names(equation.x)) {
      if (has_factor(equation.w, name) && !has_factor(equation.y, name)) return name;
    }
    return "";
  }

  void join(ValueId sum) {
    SumTerms found;
    if (!find_sum_terms(program_, readers_, sum, ops::kEinsum, found)) return;
    std::vector<ValueId>& terms = found.terms;
    if (terms.size() < kFewest || !are_alike(terms) || !pays(terms[0])) return;
    EquationText equation = split_equation(node(terms[0]).attrs.text("equation"));
    const std::string factor = summed_factor(equation);
    if (factor.empty()) return;
    std::ranges::sort(terms);  // as they are computed
    const std::vector<ValueId> factors{join_factors(sum, terms, 0, factor, equation.x),
                                       join_factors(sum, terms, 1, factor, equation.w)};
    for (const ValueId id : found.sums) joined_[id] = true;
    Attrs attrs = node(terms[0]).attrs;
    attrs.set("equation", fmt::format("{}, {} -> {}", equation.x, equation.w, equation.y));
    Node& product = program_.node(sum);
    product.op = &ops::kEinsum;
    product.inputs = factors;
    product.attrs = std::move(attrs);
  }

  /// Operand `input` of all terms, one after the other along a dimension before that of `factor`,
  /// which `names` then have, too.
  ValueId join_factors(ValueId sum, const std::vector<ValueId>& terms, std::size_t input,
                       const std::string& factor, std::string& names) {
    constexpr const char* kTerms = "terms";
    std::vector<std::string> all = factor_names(names);
    const auto place = std::ranges::find(all, factor);
    const auto dim = place - all.begin();
    all.insert(place, kTerms);
    names = meshwork::join(all, " ");
    std::vector<ValueId> parts;
    for (const ValueId term : terms) parts.push_back(with_dim(sum, node(term).inputs[input], dim));
    const Shape one = program_.type(node(terms[0]).inputs[input]).shape;
    const auto count = static_cast<std::int64_t>(terms.size());
    Shape shape = one;
    shape.insert(shape.begin() + dim, count);
    return add_like(sum, node(terms[0]).inputs[input], ops::kConcatenate, std::move(parts),
                    {{"axis", std::int64_t{dim}}}, std::move(shape), dim, count);
  }

  /// The same value with an extent of 1 before dimension `dim`.
  ValueId with_dim(ValueId sum, ValueId x, std::ptrdiff_t dim) {
    Shape shape = program_.type(x).shape;
    shape.insert(shape.begin() + dim, 1);
    return add_like(sum, x, ops::kReshape, {x}, {{"shape", shape}}, shape, dim, 1);
  }

  /// A node of the dtype of x, which lies where x does, whole along its new dimension `dim`.
  ValueId add_like(ValueId sum, ValueId x, const OpDef& op, std::vector<ValueId> inputs,
                   Attrs attrs, Shape shape, std::ptrdiff_t dim, std::int64_t extent) {
    Region region = program_.regions[x];
    region.global.insert(region.global.begin() + dim, extent);
    region.offset.insert(region.offset.begin() + dim, 0);
    Node made = node(sum);
    made.op = &op;
    made.inputs = std::move(inputs);
    made.attrs = std::move(attrs);
    made.type = {program_.type(x).dtype, std::move(shape)};
    return insertions_.add(sum, std::move(made), std::move(region));
  }

  Graph& program_;
  Readers readers_;
  ValueMap<bool> joined_;
  Insertions insertions_;
};

void run(Graph& program, const Target& /*target*/) { Joiner(program).run(); }

}  // namespace

namespace rewriting {
const RewriteDef kJoinProducts{.name = "join_products",
                               .run = run,
                               .makes = {&ops::kConcatenate, &ops::kEinsum, &ops::kReshape}};
}  // namespace rewriting

}  // namespace meshwork
