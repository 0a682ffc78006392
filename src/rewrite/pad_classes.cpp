// crossentropy(x w, labels) -> crossentropy(x pad(w) + [0.., -infinity..], labels): products are
// slow where lines of their results begin anywhere, so a number of classes such as 50257 is filled
// up. The logits of classes behind the last one are -infinity, which have no share. Their gradients
// are 0: products that sum over classes add nothing for them, and of a gradient of w the rows are
// taken that there are.
#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/rounded_up.h"
#include "graph/dim_rule.h"
#include "graph/op_def.h"
#include "graph/readers.h"
#include "ops/ops.h"
#include "rewrite/insertions.h"
#include "rewrite/rewrite.h"

namespace meshwork {
namespace {

/// Of logits: fewer are not worth a copy of the weights.
constexpr std::int64_t kFewestRows = 512;

/// A dimension of classes of what a product reads.
struct Operand {
  ValueId product;
  std::size_t place, dim;
};
/// And of what a product gives.
struct Result {
  ValueId product;
  std::size_t dim;
};

/// All that changes with the number of classes. Of these values it is the last dimension: logits
/// and their gradients.
struct Classes {
  std::vector<ValueId> logits, values;
  std::vector<Operand> weights;
  std::vector<Result> gradients_of_weights;

  void add(const Classes& more) {
    const auto append = [](auto& to, const auto& from) {
      to.insert(to.end(), from.begin(), from.end());
    };
    append(logits, more.logits);
    append(values, more.values);
    append(weights, more.weights);
    append(gradients_of_weights, more.gradients_of_weights);
  }
};

class Padding {
 public:
  Padding(Graph& program, const Target& target)
      : program_(program), target_(target), readers_(program), insertions_(program) {}

  void run() {
    Classes all;
    for (const ValueId id : program_.ids()) {
      if (pays(id)) all.add(classes_of(id).value_or(Classes{}));
    }
    for (const ValueId logits : all.logits) add_mask(logits);
    // What several products read stands before the first of them.
    std::ranges::sort(all.weights, {}, &Operand::product);
    for (const Operand& weights : all.weights) pad(weights);
    for (const ValueId value : all.values) widen(value);
    for (const Result& gradient : all.gradients_of_weights) take_classes(gradient);
    insertions_.finish();
  }

 private:
  const Node& node(ValueId id) const { return program_.node(id); }
  const Shape& shape(ValueId id) const { return program_.type(id).shape; }

  std::int64_t filled_up(std::int64_t classes) const {
    return rounded_up(classes, std::max(target_.product_line, target_.memory_line) / 2);
  }

  /// A large product of 16 bits, all of whose classes are here, and not as many as it should have.
  bool pays(ValueId id) const {
    const Node& product = node(id);
    if (product.op != &ops::kEinsum) return false;
    if (!is_narrow_float(program_.type(product.inputs[0]).dtype)) return false;
    const Shape& all = program_.global_shape(id);
    const std::int64_t classes = all.back();
    if (shape(id).back() != classes || classes * 2 % target_.product_line == 0) return false;
    const std::int64_t depth = num_elements(program_.global_shape(product.inputs[1])) / classes;
    const std::int64_t rows = num_elements(all) / classes;
    return rows >= kFewestRows && rows * classes * depth >= target_.padded_work;
  }

  /// Nothing unless all that reads a product, and the gradients of it, bears more classes.
  std::optional<Classes> classes_of(ValueId id) const {
    const DimRule rule = rule_of(program_, node(id));
    const int classes = rule.output.back().front();
    if (DimRule::contains(rule.inputs[0], classes)) return std::nullopt;
    const int dim = DimRule::dim_of(rule.inputs[1], classes);
    Classes found{{id}, {}, {{id, 1, static_cast<std::size_t>(dim)}}, {}};
    return add_logits(id, found) ? std::optional(std::move(found)) : std::nullopt;
  }

  bool add_logits(ValueId id, Classes& found) const {
    found.values.push_back(id);
    const auto last = static_cast<std::int64_t>(shape(id).size()) - 1;
    return readers_.are_nodes(id) && std::ranges::all_of(readers_.nodes(id), [&](ValueId reader) {
             const Node& by = node(reader);
             if (by.op == &ops::kCrossentropy) return true;
             if (by.op == &ops::kArgMax) return by.attrs.integer("axis") == last;
             return by.op == &ops::kCrossentropyGradient && add_gradient(reader, found);
           });
  }

  bool add_gradient(ValueId id, Classes& found) const {
    found.values.push_back(id);
    return readers_.are_nodes(id) && std::ranges::all_of(readers_.nodes(id), [&](ValueId reader) {
             return node(reader).op == &ops::kEinsum && add_reader(reader, id, found);
           });
  }

  /// A product that sums over classes, or one with a result for each of them.
  bool add_reader(ValueId product, ValueId gradient, Classes& found) const {
    const std::vector<ValueId>& inputs = node(product).inputs;
    const DimRule rule = rule_of(program_, node(product));
    const std::size_t place = inputs[0] == gradient ? 0 : 1, other = 1 - place;
    const int classes = rule.inputs[place].back().front();
    const int of_other = DimRule::dim_of(rule.inputs[other], classes);
    const int of_result = DimRule::dim_of(rule.output, classes);
    if (inputs[other] == gradient || (of_other >= 0 && of_result >= 0)) return false;
    if (of_other >= 0) {
      found.weights.push_back({product, other, static_cast<std::size_t>(of_other)});
    } else {
      found.gradients_of_weights.push_back({product, static_cast<std::size_t>(of_result)});
    }
    return true;
  }

  void widen(ValueId id) {
    std::int64_t& classes = program_.node(id).type.shape.back();
    classes = filled_up(classes);
    program_.regions[id].global.back() = classes;
  }

  /// Adds 0 to each class that there is, -infinity to the others.
  void add_mask(ValueId logits) {
    const std::int64_t classes = shape(logits).back(), all = filled_up(classes);
    const auto constant = [&](double value, std::int64_t extent) {
      const TensorType type{node(logits).type.dtype, {extent}};
      return insertions_.add(logits, ops::kConstant, {}, ops::constant_attrs(value, type), {extent},
                             {{extent}, {0}});
    };
    const ValueId there = constant(0, classes);
    const ValueId others = constant(-std::numeric_limits<double>::infinity(), all - classes);
    const ValueId mask = insertions_.add(logits, ops::kConcatenate, {there, others},
                                         {{"axis", std::int64_t{0}}}, {all}, {{all}, {0}});
    Node& product = program_.node(logits);
    product.op = &ops::kEinsumBias;
    product.inputs.push_back(mask);
    product.attrs.set("relu", false);
  }

  void pad(const Operand& operand) {
    const ValueId weights = node(operand.product).inputs[operand.place];
    ValueId& wide = padded_.try_emplace({weights, operand.dim}, kNoValue).first->second;
    if (wide == kNoValue) {
      Node padding = node(weights);
      Region region = program_.regions[weights];
      Shape& extents = padding.type.shape;
      extents[operand.dim] = region.global[operand.dim] = filled_up(extents[operand.dim]);
      padding.op = &ops::kPad;
      padding.inputs = {weights};
      padding.attrs = {{"low", Shape(extents.size(), 0)}, {"shape", extents}};
      wide = insertions_.add(operand.product, std::move(padding), std::move(region));
    }
    program_.node(operand.product).inputs[operand.place] = wide;
  }

  /// The product stays what it is for its readers, as a part of a wider one.
  void take_classes(const Result& gradient) {
    Node& part = program_.node(gradient.product);
    Node product = part;
    Region region = program_.regions[gradient.product];
    const std::int64_t classes = part.type.shape[gradient.dim];
    product.type.shape[gradient.dim] = region.global[gradient.dim] = filled_up(classes);
    part.op = &ops::kSlice;
    part.attrs = {{"axis", static_cast<std::int64_t>(gradient.dim)},
                  {"start", std::int64_t{0}},
                  {"size", classes},
                  {"read_at_once", true}};
    const ValueId wide = insertions_.add(gradient.product, std::move(product), std::move(region));
    program_.node(gradient.product).inputs = {wide};
  }

  Graph& program_;
  const Target& target_;
  Readers readers_;
  std::map<std::pair<ValueId, std::size_t>, ValueId> padded_;  ///< of weights along a dimension
  Insertions insertions_;
};

void run(Graph& program, const Target& target) {
  if (target.product_line > 0) Padding(program, target).run();
}

}  // namespace

namespace rewriting {
const RewriteDef kPadClasses{
    .name = "pad_classes",
    .run = run,
    .makes = {&ops::kConcatenate, &ops::kConstant, &ops::kEinsumBias, &ops::kPad, &ops::kSlice}};
}  // namespace rewriting

}  // namespace meshwork
