#include "backend/cuda/elementwise/fused_values.h"

#include "backend/cuda/elementwise/formulas.h"
#include "base/check.h"

namespace meshwork::cuda {

FusedValue named(Writer& writer, DType dtype, const std::string& expression) {
  const std::string stored = writer.let(expression);
  const bool is_narrow = dtype == DType::kBFloat16;
  return {dtype, stored, is_narrow ? writer.let("to_float(" + stored + ")") : stored};
}

FusedValue computed(Writer& writer, const FusionGroup::Member& member,
                    const std::vector<FusedValue>& operands) {
  const WriteFormula formula = find_formula(member.op);
  MW_CHECK(formula != nullptr && !operands.empty(), "'{}' in a fusion group", member.op);
  const auto number = [](DType dtype) {
    return dtype == DType::kBFloat16 ? DType::kFloat32 : dtype;
  };
  std::vector<std::string> numbers;
  for (const FusedValue& operand : operands) numbers.push_back(operand.number);
  const DType from = number(operands.back().dtype), to = member.output.type.dtype;
  MW_CHECK(from == number(to) || (to == DType::kFloat32 && member.op != "cast"),
           "'{}' from {} to {} in a fusion group", member.op, to_string(from), to_string(to));
  const std::string result = formula(writer, from, numbers);
  if (to == DType::kBFloat16) return named(writer, to, "to_bfloat16(" + result + ")");
  return {to, result, result};
}

}  // namespace meshwork::cuda
