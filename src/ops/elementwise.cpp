#include "ops/elementwise.h"

#include <array>
#include <utility>

#include "base/check.h"
#include "base/error.h"
#include "elementwise/each.h"
#include "graph/dim_rule.h"
#include "ops/ops.h"

namespace meshwork::ops {

TensorType infer_unary(const OpArgs& args) {
  MW_CHECK(args.inputs.size() == 1 && is_floating(args.inputs[0].dtype));
  return args.inputs[0];
}

Shape broadcast_shapes(std::span<const TensorType> inputs) {
  Shape result;
  for (const TensorType& input : inputs) {
    const Shape& shape = input.shape;
    if (shape.size() > result.size()) {
      result.insert(result.begin(), shape.size() - result.size(), 1);
    }
    const std::size_t missing = result.size() - shape.size();
    for (std::size_t d = 0; d < shape.size(); ++d) {
      std::int64_t& extent = result[missing + d];
      if (extent == 1) {
        extent = shape[d];
      } else if (shape[d] != 1 && shape[d] != extent) {
        fail("cannot combine shapes {} and {}: dimension {} is {} and {}",
             to_string(inputs[0].shape), to_string(shape), missing + d, extent, shape[d]);
      }
    }
  }
  return result;
}

namespace {

template <class Entry>
TensorType infer(const OpArgs& args) {
  constexpr auto kTypes = Entry::kTraits.types;
  constexpr std::size_t kOperands = elementwise::operand_count<Entry>();
  const auto& inputs = args.inputs;
  MW_CHECK(inputs.size() == kOperands, "{} operands", inputs.size());
  constexpr bool kChooses = kTypes == elementwise::Types::kChoice;
  MW_CHECK((kOperands > 1 && !kChooses) || is_floating(inputs[0].dtype));
  TensorType result = inputs.back();
  for (const TensorType& input : inputs.subspan(kChooses ? 1 : 0)) {
    MW_CHECK(input.dtype == result.dtype, "operands are {} and {}", to_string(input),
             to_string(result));
  }
  result.shape = broadcast_shapes(inputs);
  const bool is_truth = kTypes == elementwise::Types::kTruth && !is_narrow_float(result.dtype);
  if (is_truth) result.dtype = DType::kFloat32;
  return result;
}

/// A value of a graph, in the words of gradients.
class Value {
 public:
  Value() = default;  ///< none
  Value(GraphBuilder& b, ValueId id) : b_(&b), id_(id) {}

  ValueId id() const { return id_; }

  template <class Entry, class... Values>
  static Value of(Value x, Values... more) {
    return {*x.b_, x.b_->add(elementwise::kOp<Entry>, {x.id_, more.id_...})};
  }
  friend Value constant(double value, Value like) {
    return {*like.b_, constant_like(*like.b_, value, like.id_)};
  }
  friend Value sum_to(Value x, Value like) {
    return {*x.b_, ops::sum_to(*x.b_, x.id_, x.b_->shape(like.id_))};
  }

  friend Value operator+(Value a, Value b) { return of<elementwise::Add>(a, b); }
  friend Value operator-(Value a, Value b) { return of<elementwise::Subtract>(a, b); }
  friend Value operator*(Value a, Value b) { return of<elementwise::Multiply>(a, b); }
  friend Value operator/(Value a, Value b) { return of<elementwise::Divide>(a, b); }
  friend Value operator-(Value x) { return of<elementwise::Negate>(x); }
  friend Value operator==(Value a, Value b) { return of<elementwise::Equal>(a, b); }
  friend Value operator>(Value a, Value b) { return of<elementwise::Greater>(a, b); }
  friend Value operator+(Value a, double b) { return a + constant(b, a); }
  friend Value operator*(Value a, double b) { return a * constant(b, a); }
  friend Value operator>(Value a, double b) { return a > constant(b, a); }

 private:
  GraphBuilder* b_ = nullptr;
  ValueId id_ = kNoValue;
};

template <class Entry, std::size_t... I>
std::vector<ValueId> gradients(GraphBuilder& b, ValueId self, ValueId dy,
                               std::index_sequence<I...>) {
  const std::vector<ValueId> inputs = b.node(self).inputs;
  const Value y(b, self), dy_value(b, dy);
  if constexpr (sizeof...(I) == 1) {
    return {Entry::gradient(Value(b, inputs[0]), y, dy_value).id()};
  } else {
    std::vector<ValueId> result;
    for (const Value& dx : Entry::gradient(Value(b, inputs[I])..., y, dy_value)) {
      const Shape& shape = b.shape(inputs[result.size()]);
      result.push_back(dx.id() == kNoValue ? kNoValue : sum_to(b, dx.id(), shape));
    }
    return result;
  }
}

template <class Entry>
std::vector<ValueId> gradients_of(GraphBuilder& b, ValueId self, ValueId dy) {
  return gradients<Entry>(b, self, dy,
                          std::make_index_sequence<elementwise::operand_count<Entry>()>());
}

template <class Entry>
float fold(std::span<const float> x) {
  if constexpr (elementwise::operand_count<Entry>() == 1) {
    return Entry::apply(x[0]);
  } else {
    return Entry::apply(x[0], x[1]);
  }
}

template <class Entry>
constexpr OpDef define() {
  OpDef op{
      .name = Entry::kTraits.name,
      .infer = infer<Entry>,
      .rule = elementwise_rule,
      .linear = Entry::kTraits.linear,
      .in_place = true,
      .elementwise = true,
  };
  if constexpr (requires { &Entry::template gradient<Value>; }) op.grad = gradients_of<Entry>;
  if constexpr (Entry::kTraits.folds) op.fold = fold<Entry>;
  return op;
}

}  // namespace
}  // namespace meshwork::ops

namespace meshwork::elementwise {

const std::array<OpDef, All::kSize> kOps = each([]<class Entry>() { return ops::define<Entry>(); });

}  // namespace meshwork::elementwise

namespace meshwork::ops {

ValueId add(GraphBuilder& b, ValueId x, ValueId y) { return b.add(kAdd, {x, y}); }
ValueId subtract(GraphBuilder& b, ValueId x, ValueId y) { return b.add(kSubtract, {x, y}); }
ValueId multiply(GraphBuilder& b, ValueId x, ValueId y) { return b.add(kMultiply, {x, y}); }
ValueId divide(GraphBuilder& b, ValueId x, ValueId y) { return b.add(kDivide, {x, y}); }
ValueId maximum(GraphBuilder& b, ValueId x, ValueId y) { return b.add(kMaximum, {x, y}); }
ValueId minimum(GraphBuilder& b, ValueId x, ValueId y) { return b.add(kMinimum, {x, y}); }
ValueId power(GraphBuilder& b, ValueId x, ValueId y) { return b.add(kPower, {x, y}); }
ValueId equal(GraphBuilder& b, ValueId x, ValueId y) { return b.add(kEqual, {x, y}); }
ValueId greater(GraphBuilder& b, ValueId x, ValueId y) { return b.add(kGreater, {x, y}); }
ValueId greater_equal(GraphBuilder& b, ValueId x, ValueId y) {
  return b.add(kGreaterEqual, {x, y});
}

ValueId select(GraphBuilder& b, ValueId condition, ValueId x, ValueId y) {
  return b.add(kSelect, {condition, x, y});
}

ValueId negate(GraphBuilder& b, ValueId x) { return b.add(kNegate, {x}); }
ValueId abs(GraphBuilder& b, ValueId x) { return b.add(kAbs, {x}); }
ValueId square(GraphBuilder& b, ValueId x) { return b.add(kSquare, {x}); }
ValueId sqrt(GraphBuilder& b, ValueId x) { return b.add(kSqrt, {x}); }
ValueId exp(GraphBuilder& b, ValueId x) { return b.add(kExp, {x}); }
ValueId log(GraphBuilder& b, ValueId x) { return b.add(kLog, {x}); }
ValueId floor(GraphBuilder& b, ValueId x) { return b.add(kFloor, {x}); }

ValueId scale(GraphBuilder& b, ValueId x, double factor) {
  return multiply(b, x, constant_like(b, factor, x));
}

ValueId shift(GraphBuilder& b, ValueId x, double offset) {
  return add(b, x, constant_like(b, offset, x));
}

ValueId one_minus(GraphBuilder& b, ValueId x) { return subtract(b, constant_like(b, 1.0, x), x); }

ValueId clip(GraphBuilder& b, ValueId x, double low, double high) {
  const ValueId raised = maximum(b, x, constant_like(b, low, x));
  return minimum(b, raised, constant_like(b, high, x));
}

}  // namespace meshwork::ops
