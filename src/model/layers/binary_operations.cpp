// Divide and Power: Keras's operations on two tensors, or on a tensor and the number x1 or x2
#include <optional>

#include "model/arguments.h"
#include "model/layers/operation.h"
#include "ops/ops.h"

namespace meshwork::layers {
namespace {

using Formula = ValueId (*)(GraphBuilder& b, ValueId x1, ValueId x2);

/// JAX's: whole numbers take the dtype of the other; two floats that differ become float32.
DType common_dtype(DType a, DType b) {
  if (!is_floating(a)) return is_floating(b) ? b : DType::kFloat32;
  return !is_floating(b) || a == b ? a : DType::kFloat32;
}

/// Unlike numpy, which holds the first dimensions against others where there are fewer: one of them
/// is the batch.
void check_broadcast(const config::Reader& args, const Shape& a, const Shape& b) {
  bool fits = a.size() == b.size();
  for (std::size_t d = 0; fits && d < a.size(); ++d) fits = a[d] == b[d] || a[d] == 1 || b[d] == 1;
  if (fits) return;
  fail_at(args.at(),
          "{}: samples {} and {} do not broadcast; bring them to as many dimensions, each the same "
          "or 1, by Reshape",
          args.what(), sample_shape(a), sample_shape(b));
}

template <Formula kFormula>
ValueId build(Scope& scope, config::Reader& args, std::span<const ValueId> inputs) {
  GraphBuilder& b = scope.builder();
  const std::optional<double> first = args.get_real("x1"), second = args.get_real("x2");
  if (inputs.size() + (first ? 1 : 0) + (second ? 1 : 0) != 2) {
    fail_at(args.at(),
            "{}: it takes two inputs, inputs: [a, b], or one and a number, x1: 2 or x2: 2",
            args.what());
  }
  if (first || second) {
    const ValueId x = to_real(scope, inputs[0]);
    const ValueId number = ops::constant_like(b, first ? *first : *second, x);
    return give(scope, args, first ? kFormula(b, number, x) : kFormula(b, x, number));
  }
  check_broadcast(args, b.shape(inputs[0]), b.shape(inputs[1]));
  const DType dtype = common_dtype(b.type(inputs[0]).dtype, b.type(inputs[1]).dtype);
  const ValueId x1 = scope.cast(inputs[0], dtype);
  return give(scope, args, kFormula(b, x1, scope.cast(inputs[1], dtype)));
}

template <Formula kFormula>
LayerDef operation(std::vector<std::string_view> names) {
  return {.names = std::move(names),
          .build = build<kFormula>,
          .max_inputs = 2,
          .takes_any_dtype = true,
          .call_arguments = {"x2", "x1"},
          .call_inputs = {"x1", "x2"},
          .module = kNumpyOperations};
}

}  // namespace

const LayerDef kDivide = operation<ops::divide>({"Divide", "TrueDivide"});
const LayerDef kPower = operation<ops::power>({"Power"});

}  // namespace meshwork::layers
