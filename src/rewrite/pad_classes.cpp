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

#include "graph/equation_text.h"
#include "graph/op_def.h"
#include "graph/readers.h"
#include "ops/ops.h"
#include "rewrite/insertions.h"
#include "rewrite/rewrite.h"

namespace meshwork {
namespace {

/// Of logits: fewer are not worth a copy of the weights.
constexpr std::int64_t kFewestRows = 512;

/// A product of gradients by classes, and where its classes are besides.
struct Reader {
  ValueId id;
  std::optional<std::size_t> operand;  ///< with a dimension of classes; none: the result has it
  std::size_t dim;
};

/// Logits, and all that changes with them.
struct Logits {
  ValueId product;
  std::size_t dim_of_weights;  ///< of classes, of the second factor
  std::vector<ValueId> casts;  ///< of the product
  std::vector<ValueId> gradients;
  std::vector<Reader> readers;  ///< of the gradients
};

std::optional<std::size_t> dim_of(const std::string& operand, const std::string& factor) {
  const std::vector<std::string> names = factor_names(operand);
  const auto found = std::ranges::find(names, factor);
  if (found == names.end()) return std::nullopt;
  return static_cast<std::size_t>(found - names.begin());
}

class Padding {
 public:
  Padding(Graph& program, const Target& target)
      : program_(program),
        target_(target),
        counts_(count_readers(program)),
        readers_(reading_nodes(program)),
        insertions_(program) {}

  void run() {
    for (const ValueId id : program_.ids()) {
      if (!pays(id)) continue;
      if (const auto logits = logits_at(id)) pad(*logits);
    }
    insertions_.finish();
  }

 private:
  const Node& node(ValueId id) const { return program_.node(id); }
  const Shape& shape(ValueId id) const { return program_.type(id).shape; }
  std::size_t last_dim(ValueId id) const { return shape(id).size() - 1; }
  EquationText equation(ValueId id) const {
    return split_equation(node(id).attrs.text("equation"));
  }

  std::int64_t filled_up(std::int64_t classes) const {
    const std::int64_t unit = target_.product_line / 2;  // of 16 bits
    return (classes + unit - 1) / unit * unit;
  }

  /// A large product of 16 bits, all of whose classes are here, and not as many as it should have.
  bool pays(ValueId id) const {
    const Node& product = node(id);
    if (product.op != &ops::kEinsum) return false;
    if (!is_narrow_float(program_.type(product.inputs[0]).dtype)) return false;
    const Shape& all = program_.global_shape(id);
    const std::int64_t classes = all.back();
    if (shape(id).back() != classes || filled_up(classes) == classes) return false;
    const std::int64_t depth = num_elements(program_.global_shape(product.inputs[1])) / classes;
    const std::int64_t rows = num_elements(all) / classes;
    return rows >= kFewestRows && rows * classes * depth >= target_.padded_work;
  }

  /// Whether nodes alone read a value, no update and no output.
  bool is_read_by_nodes(ValueId id) const {
    return counts_[id] == static_cast<int>(readers_[id].size());
  }

  /// Nothing unless all that reads a product, and the gradients of it, bears more classes.
  std::optional<Logits> logits_at(ValueId id) const {
    const EquationText e = equation(id);
    const std::string classes = factor_names(e.y).back();
    if (has_factor(e.x, classes)) return std::nullopt;
    Logits logits{id, dim_of(e.w, classes).value(), {}, {}, {}};
    return add_readers(id, logits) ? std::optional(std::move(logits)) : std::nullopt;
  }

  /// Whether all that reads logits bears more classes.
  bool add_readers(ValueId id, Logits& logits) const {
    const auto last = static_cast<std::int64_t>(last_dim(id));
    return is_read_by_nodes(id) && std::ranges::all_of(readers_[id], [&](ValueId reader) {
             const Node& by = node(reader);
             if (by.op == &ops::kCrossentropy) return true;
             if (by.op == &ops::kArgMax) return by.attrs.integer("axis") == last;
             if (by.op == &ops::kCrossentropyGradient) return add_gradient(reader, logits);
             if (by.op != &ops::kCast) return false;
             logits.casts.push_back(reader);
             return add_readers(reader, logits);
           });
  }

  bool add_gradient(ValueId gradient, Logits& logits) const {
    logits.gradients.push_back(gradient);
    return is_read_by_nodes(gradient) &&
           std::ranges::all_of(readers_[gradient], [&](ValueId product) {
             const auto reader = reader_of(product, gradient);
             if (reader) logits.readers.push_back(*reader);
             return reader.has_value();
           });
  }

  /// Nothing for what is no product by classes, or one for each class.
  std::optional<Reader> reader_of(ValueId product, ValueId gradient) const {
    if (node(product).op != &ops::kEinsum) return std::nullopt;
    const std::vector<ValueId>& inputs = node(product).inputs;
    const std::size_t place = inputs[0] == gradient ? 0 : 1, other = 1 - place;
    const EquationText e = equation(product);
    const std::string& own = place == 0 ? e.x : e.w;
    const std::string classes = factor_names(own).back();
    const auto of_other = dim_of(other == 0 ? e.x : e.w, classes), of_result = dim_of(e.y, classes);
    if (inputs[other] == gradient || (of_other && of_result)) return std::nullopt;
    if (of_other) return Reader{product, other, *of_other};
    return Reader{product, std::nullopt, of_result.value()};
  }

  void pad(const Logits& logits) {
    const ValueId mask = mask_of(logits.product);
    pad_operand(logits.product, 1, logits.dim_of_weights);
    Node& product = program_.node(logits.product);
    product.op = &ops::kEinsumBias;
    product.inputs.push_back(mask);
    product.attrs.set("relu", false);
    for (const auto& values : {std::vector{logits.product}, logits.casts, logits.gradients}) {
      for (const ValueId value : values) widen(value);
    }
    for (const Reader& reader : logits.readers) {
      if (reader.operand) {
        pad_operand(reader.id, *reader.operand, reader.dim);
      } else {
        take_classes(reader.id, reader.dim);
      }
    }
  }

  void widen(ValueId id) {
    std::int64_t& classes = program_.node(id).type.shape.back();
    classes = filled_up(classes);
    program_.regions[id].global.back() = classes;
  }

  /// 0 for each class that there is, -infinity for the others.
  ValueId mask_of(ValueId product) {
    const std::int64_t classes = shape(product).back();
    const auto constant = [&](double value, std::int64_t extent) {
      const std::string dtype(to_string(node(product).type.dtype));
      return insertions_.add(product, ops::kConstant, {},
                             {{"value", value}, {"dtype", dtype}, {"shape", Shape{extent}}},
                             {extent}, {{extent}, {0}});
    };
    const std::int64_t all = filled_up(classes);
    const ValueId there = constant(0, classes);
    const ValueId others = constant(-std::numeric_limits<double>::infinity(), all - classes);
    return insertions_.add(product, ops::kConcatenate, {there, others}, {{"axis", std::int64_t{0}}},
                           {all}, {{all}, {0}});
  }

  void pad_operand(ValueId product, std::size_t place, std::size_t dim) {
    const ValueId weights = node(product).inputs[place];
    ValueId& wide = padded_.try_emplace({weights, dim}, kNoValue).first->second;
    if (wide == kNoValue) {
      Shape extents = shape(weights);
      Region region = program_.regions[weights];
      extents[dim] = region.global[dim] = filled_up(extents[dim]);
      const Attrs attrs{{"low", Shape(extents.size(), 0)}, {"shape", extents}};
      Node padding = node(weights);
      padding.op = &ops::kPad;
      padding.inputs = {weights};
      padding.attrs = attrs;
      padding.type.shape = extents;
      wide = insertions_.add(product, std::move(padding), std::move(region));
    }
    program_.node(product).inputs[place] = wide;
  }

  /// The product stays what it is for its readers, as a part of a wider one.
  void take_classes(ValueId id, std::size_t dim) {
    const std::int64_t classes = shape(id)[dim];
    Node product = node(id);
    Region region = program_.regions[id];
    product.type.shape[dim] = region.global[dim] = filled_up(classes);
    const ValueId wide = insertions_.add(id, std::move(product), std::move(region));
    Node& part = program_.node(id);
    part.op = &ops::kSlice;
    part.inputs = {wide};
    part.attrs = {{"axis", static_cast<std::int64_t>(dim)},
                  {"start", std::int64_t{0}},
                  {"size", classes},
                  {"read_at_once", true}};
  }

  Graph& program_;
  const Target& target_;
  ValueMap<int> counts_;
  ValueMap<std::vector<ValueId>> readers_;
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
    .makes = {&ops::kPad, &ops::kConcatenate, &ops::kSlice, &ops::kEinsumBias}};
}  // namespace rewriting

}  // namespace meshwork
