#include "backend/cuda/elementwise/fused_values.h"

#include <fmt/format.h>

#include <algorithm>

#include "backend/cuda/elementwise/formulas.h"
#include "backend/cuda/kernel.h"
#include "backend/pass_shape.h"
#include "base/check.h"

namespace meshwork::cuda {
namespace {

bool is_narrow(DType dtype) { return sum_dtype(dtype) != dtype; }

}  // namespace

FusedValue named(Writer& writer, DType dtype, const std::string& expression) {
  const std::string stored = writer.let(expression);
  return {dtype, stored, is_narrow(dtype) ? writer.let("to_float(" + stored + ")") : stored};
}

FusedValue computed(Writer& writer, const FusionGroup::Member& member,
                    const std::vector<FusedValue>& operands) {
  const WriteFormula formula = find_formula(member.op);
  MW_CHECK(formula != nullptr && !operands.empty(), "'{}' in a fusion group", member.op);
  std::vector<std::string> numbers;
  for (const FusedValue& operand : operands) numbers.push_back(operand.number);
  DType from = sum_dtype(operands.back().dtype);
  const DType to = member.output.type.dtype;
  if (member.op == "cast" && !is_floating(from)) {
    numbers = {writer.let("to_float(" + numbers.front() + ")")};
    from = DType::kFloat32;
  }
  MW_CHECK(from == sum_dtype(to) || (to == DType::kFloat32 && member.op != "cast"),
           "'{}' from {} to {} in a fusion group", member.op, to_string(from), to_string(to));
  const std::string result = formula(writer, from, numbers);
  if (!is_narrow(to)) return {to, result, result};
  const std::string as = "<" + type_name(to) + ">(" + result + ")";
  return {to, writer.let("from_float" + as), writer.let("rounded" + as)};
}

std::vector<float> numbers_of(const FusionGroup& group) {
  std::vector<float> numbers;
  for (const FusionGroup::Member& member : group.members) {
    if (!is_constant(member)) continue;
    MW_CHECK(member.output.type.dtype == DType::kFloat32);
    numbers.push_back(number_of(member));
  }
  return numbers;
}

FusedValue number_in(Writer& writer, const FusionGroup& group, std::size_t member) {
  const auto begin = group.members.begin();
  const auto place = std::count_if(begin, begin + static_cast<std::ptrdiff_t>(member), is_constant);
  return named(writer, DType::kFloat32, fmt::format("numbers.at[{}]", place));
}

std::string coordinates(std::size_t rank) {
  std::string text;
  for (std::size_t d = rank; d-- > 1;) {
    text += fmt::format("const Index q{0} = divide(rest, dims.at[{0}]);\n", d);
    text += fmt::format("const Index c{0} = rest - q{0} * (Index)dims.at[{0}].value;\n", d);
    text += fmt::format("rest = q{};\n", d);
  }
  return rank == 0 ? "" : text + "const Index c0 = rest;\n";
}

std::string offset_along(const Moves& moves) {
  std::string text;
  for (std::size_t d = 0; d < moves.size(); ++d) {
    if (!moves[d]) continue;
    text = text.empty() ? fmt::format("c{}", d)
                        : fmt::format("({0}) * (Index)dims.at[{1}].value + c{1}", text, d);
  }
  return text;
}

}  // namespace meshwork::cuda
