// Absolute, Sqrt, Exp ..: Keras's operations on one tensor, element by element
#include "model/layers/operation.h"
#include "ops/ops.h"

namespace meshwork::layers {
namespace {

using Formula = ValueId (*)(GraphBuilder& b, ValueId x);

template <class Entry>
ValueId apply(GraphBuilder& b, ValueId x) {
  return b.add(elementwise::kOp<Entry>, {x});
}

ValueId reciprocal(GraphBuilder& b, ValueId x) {
  return ops::divide(b, ops::constant_like(b, 1.0, x), x);
}

ValueId reciprocal_root(GraphBuilder& b, ValueId x) { return reciprocal(b, ops::sqrt(b, x)); }

template <Formula kFormula>
ValueId build(Scope& scope, config::Reader& args, std::span<const ValueId> inputs) {
  return give(scope, args, kFormula(scope.builder(), to_real(scope, inputs[0])));
}

template <Formula kFormula>
LayerDef operation(std::vector<std::string_view> names,
                   std::string_view module = kNumpyOperations) {
  return {.names = std::move(names),
          .build = build<kFormula>,
          .takes_any_dtype = true,
          .module = module};
}

constexpr std::string_view kMath = "keras.src.ops.math";

}  // namespace

const LayerDef kAbsolute = operation<apply<elementwise::Abs>>({"Absolute", "Abs"});
const LayerDef kCos = operation<apply<elementwise::Cosine>>({"Cos"});
const LayerDef kErf = operation<apply<elementwise::Erf>>({"Erf"}, kMath);
const LayerDef kExp = operation<apply<elementwise::Exp>>({"Exp"});
const LayerDef kExpm1 = operation<apply<elementwise::Expm1>>({"Expm1"});
const LayerDef kFloor = operation<apply<elementwise::Floor>>({"Floor"});
const LayerDef kLog = operation<apply<elementwise::Log>>({"Log"});
const LayerDef kLog1p = operation<apply<elementwise::Log1p>>({"Log1p"});
const LayerDef kNegative = operation<apply<elementwise::Negate>>({"Negative"});
const LayerDef kReciprocal = operation<reciprocal>({"Reciprocal"});
const LayerDef kRsqrt = operation<reciprocal_root>({"Rsqrt"}, kMath);
const LayerDef kSign = operation<apply<elementwise::Sign>>({"Sign"});
const LayerDef kSin = operation<apply<elementwise::Sine>>({"Sin"});
const LayerDef kSqrt = operation<apply<elementwise::Sqrt>>({"Sqrt"});
const LayerDef kSquare = operation<apply<elementwise::Square>>({"Square"});

}  // namespace meshwork::layers
