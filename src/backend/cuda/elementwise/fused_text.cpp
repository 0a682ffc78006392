#include "backend/cuda/elementwise/fused_text.h"

#include <fmt/format.h>

#include "backend/cuda/elementwise/formulas.h"
#include "backend/cuda/kernel.h"
#include "base/check.h"

namespace meshwork::cuda {
namespace {

using Kind = FusedOperand::Kind;

constexpr char kHelpers[] = R"cuda(
// Elements that a thread takes at a time.
template <class T>
struct alignas(sizeof(T) * WIDTH < 16 ? sizeof(T) * WIDTH : 16) Lanes {
  T at[WIDTH];
};
#define EACH_LANE(l) _Pragma("unroll") for (int l = 0; l < WIDTH; ++l)

struct Places {
  void* at[PLACES];
};
struct Sizes {
  int64 count, wide, rows;
};
struct Dim {
  int64 extent;
  uint32 multiplier, shift;
};
struct Dims {
  Dim at[RANK];
};

DEVICE uint32 quotient(uint32 i, const Dim& dim) {
  return ((uint32)((uint64)i * dim.multiplier >> 32) + i) >> dim.shift;
}
DEVICE uint64 quotient(uint64 i, const Dim& dim) { return i / (uint64)dim.extent; }

template <class T>
DEVICE Lanes<T> vector_at(const T* x) {
  return *(const Lanes<T>*)x;
}
template <class T>
DEVICE Lanes<T> filled(T x) {
  Lanes<T> lanes;
  EACH_LANE(l) lanes.at[l] = x;
  return lanes;
}
template <class T>
DEVICE void store(T* y, const Lanes<T>& lanes) {
  *(Lanes<T>*)y = lanes;
}
)cuda";

/// The names of values: inputs lie at x0, x1, .. and are a0, a1, ..; results lie at y0, y1, .. and
/// are b0, b1, .. A vector of lanes each, but an input of one element is one value.
class FusedText {
 public:
  FusedText(const FusionGroup& group, const FusedOperands& operands)
      : group_(group), operands_(operands) {}

  std::string kernel(const std::string& name) const {
    std::string text = fmt::format("KERNEL({}, Places places, Sizes sizes, Dims dims) {{\n", name);
    text += pointers();
    text += R"cuda(
const INDEX count = (INDEX)sizes.count;
const INDEX step = (INDEX)gridDim.x * blockDim.x * WIDTH;
for (INDEX i = ((INDEX)blockIdx.x * blockDim.x + threadIdx.x) * WIDTH; i < count; i += step) {
const bool whole = i < (INDEX)sizes.wide;
)cuda";
    text += lanes();
    text += "if (whole) {\n" + of_inputs(Kind::kWhole, "a{0} = vector_at(x{0} + i);\n");
    text += "} else {\nEACH_LANE(l) if (l < count - i) {\n" +
            of_inputs(Kind::kWhole, "a{0}.at[l] = x{0}[i + l];\n") + "}\n}\n";
    if (rank() > 0) text += repeated();
    text += "EACH_LANE(l) {\n" + members() + "}\n";
    text += "if (whole) {\n" + of_results("store(y{0} + i, b{0});\n");
    text += "} else {\nEACH_LANE(l) if (l < count - i) {\n" +
            of_results("y{0}[i + l] = b{0}.at[l];\n") + "}\n}\n}\n}\n";
    return text;
  }

  /// Where elements of what repeats are that belong to element i of the result.
  std::string offsets() const {
    if (rank() == 0) return "";
    std::string text = "struct Offsets {\nINDEX at[" + std::to_string(operands_.nest.moves.size()) +
                       "];\n};\nDEVICE Offsets offsets(INDEX i, const Dims& dims) {\n";
    for (std::size_t d = rank() - 1; d > 0; --d) {
      text += fmt::format("const INDEX q{0} = quotient(i, dims.at[{0}]);\n", d);
      text += fmt::format("const INDEX c{0} = i - q{0} * (INDEX)dims.at[{0}].extent;\n", d);
      text += fmt::format("i = q{};\n", d);
    }
    text += "const INDEX c0 = i;\nOffsets offsets;\n";
    for (std::size_t p = 0; p < operands_.nest.moves.size(); ++p) {
      text += fmt::format("offsets.at[{}] = {};\n", p, offset(operands_.nest.moves[p]));
    }
    return text + "return offsets;\n}\n";
  }

 private:
  /// What a member reads.
  struct Value {
    DType dtype;
    std::string stored;  ///< the name of what stands in memory
    std::string number;  ///< of what is computed with: of floats of 16 bits a float
  };

  std::size_t rank() const { return operands_.nest.extents.size(); }

  std::string pointers() const {
    std::string text;
    std::size_t place = 0;
    for (std::size_t k = 0; k < operands_.inputs.size(); ++k) {
      text += fmt::format("const auto x{} = (const {}*)places.at[{}];\n", k,
                          type_name(operands_.inputs[k].view.type.dtype), place++);
    }
    for (std::size_t k = 0; k < operands_.results.size(); ++k) {
      text += fmt::format("const auto y{} = ({}*)places.at[{}];\n", k,
                          type_name(operands_.results[k].type.dtype), place++);
    }
    return text + of_inputs(Kind::kOne, "const auto a{0} = *x{0};\n");
  }

  std::string lanes() const {
    std::string text;
    for (std::size_t k = 0; k < operands_.inputs.size(); ++k) {
      if (operands_.inputs[k].kind == Kind::kOne) continue;
      text +=
          fmt::format("Lanes<{}> a{} = {{}};\n", type_name(operands_.inputs[k].view.type.dtype), k);
    }
    for (std::size_t k = 0; k < operands_.results.size(); ++k) {
      text += fmt::format("Lanes<{}> b{};\n", type_name(operands_.results[k].type.dtype), k);
    }
    return text;
  }

  /// `format` with the number of each input of a kind.
  std::string of_inputs(Kind kind, const char* format) const {
    std::string text;
    for (std::size_t k = 0; k < operands_.inputs.size(); ++k) {
      if (operands_.inputs[k].kind == kind) text += fmt::format(fmt::runtime(format), k);
    }
    return text;
  }
  std::string of_results(const char* format) const {
    std::string text;
    for (std::size_t k = 0; k < operands_.results.size(); ++k) {
      text += fmt::format(fmt::runtime(format), k);
    }
    return text;
  }

  /// Loads what repeats: where rows are whole vectors, of the first lane tells where all are.
  std::string repeated() const {
    std::string vectors, each;
    for (std::size_t k = 0; k < operands_.inputs.size(); ++k) {
      const FusedOperand& input = operands_.inputs[k];
      if (input.kind != Kind::kRepeated) continue;
      const bool moves = operands_.nest.moves[input.pattern].back();
      const char* const format = moves ? "a{0} = vector_at(x{0} + first.at[{1}]);\n"
                                       : "a{0} = filled(x{0}[first.at[{1}]]);\n";
      vectors += fmt::format(fmt::runtime(format), k, input.pattern);
      each += fmt::format("a{0}.at[l] = x{0}[here.at[{1}]];\n", k, input.pattern);
    }
    return "if (i < (INDEX)sizes.rows) {\nconst Offsets first = offsets(i, dims);\n" + vectors +
           "} else {\nEACH_LANE(l) {\n"
           "const Offsets here = offsets(l < count - i ? i + l : count - 1, dims);\n" +
           each + "}\n}\n";
  }

  /// The coordinates along which an operand moves, as a number of one of its elements.
  static std::string offset(const Moves& moves) {
    std::string text;
    for (std::size_t d = 0; d < moves.size(); ++d) {
      if (!moves[d]) continue;
      text = text.empty() ? fmt::format("c{}", d)
                          : fmt::format("({0}) * (INDEX)dims.at[{1}].extent + c{1}", text, d);
    }
    return text;
  }

  /// All members for lane l.
  std::string members() const {
    Writer writer;
    std::vector<Value> inputs, values;
    for (std::size_t k = 0; k < operands_.inputs.size(); ++k) {
      const FusedOperand& input = operands_.inputs[k];
      const char* const format = input.kind == Kind::kOne ? "a{}" : "a{}.at[l]";
      inputs.push_back(value(writer, input.view.type.dtype, fmt::format(fmt::runtime(format), k)));
    }
    std::string stores;
    std::size_t result = 0;
    for (const FusionGroup::Member& member : group_.members) {
      std::vector<Value> x;
      for (std::size_t o = 0; o < member.operands.size(); ++o) {
        const std::size_t from = member.operands[o];
        x.push_back(from < group_.inputs.size() ? inputs.at(operands_.find(member, o))
                                                : values.at(from - group_.inputs.size()));
      }
      values.push_back(computed(writer, member, x));
      if (member.is_read)
        stores += fmt::format("b{}.at[l] = {};\n", result++, values.back().stored);
    }
    return writer.statements() + stores;
  }

  static bool is_narrow(DType dtype) { return sum_dtype(dtype) != dtype; }

  static Value value(Writer& writer, DType dtype, const std::string& expression) {
    const std::string stored = writer.let(expression);
    return {dtype, stored, is_narrow(dtype) ? writer.let("to_float(" + stored + ")") : stored};
  }

  static Value computed(Writer& writer, const FusionGroup::Member& member,
                        const std::vector<Value>& operands) {
    const WriteFormula formula = find_formula(member.op);
    MW_CHECK(formula != nullptr && !operands.empty(), "'{}' in a fusion group", member.op);
    std::vector<std::string> numbers;
    for (const Value& operand : operands) numbers.push_back(operand.number);
    const DType from = sum_dtype(operands.back().dtype), to = member.output.type.dtype;
    MW_CHECK(from == sum_dtype(to) || (to == DType::kFloat32 && member.op != "cast"),
             "'{}' from {} to {} in a fusion group", member.op, to_string(from), to_string(to));
    const std::string result = formula(writer, from, numbers);
    if (!is_narrow(to)) return {to, result, result};
    return value(writer, to, "from_float<" + type_name(to) + ">(" + result + ")");
  }

  const FusionGroup& group_;
  const FusedOperands& operands_;
};

}  // namespace

std::string fused_text(const FusionGroup& group, const FusedOperands& operands,
                       const std::string& name) {
  const FusedText text(group, operands);
  return kHelpers + text.offsets() + text.kernel(name);
}

}  // namespace meshwork::cuda
