#include "backend/cuda/elementwise/fused_text.h"

#include <fmt/format.h>

#include "backend/cuda/beside.h"
#include "backend/cuda/elementwise/fused_values.h"
#include "backend/cuda/kernel.h"

namespace meshwork::cuda {
namespace {

using Kind = FusedOperand::Kind;

constexpr char kPasses[] = R"cuda(
struct Pass {
  Places places;
  int64 count, wide, rows;
  Dims dims;
  Numbers numbers;
};
struct Passes {
  Pass at[PASSES];
  uint32 ends[PASSES];  // of the blocks of each, one pass behind the other
};
)cuda";

/// The names of values: inputs lie at x0, x1, .. and are a0, a1, ..; results lie at y0, y1, .. and
/// are b0, b1, .. A vector of lanes each, but an input of one element is one value.
class FusedText {
 public:
  FusedText(const FusionGroup& group, const FusedOperands& operands)
      : group_(group), operands_(operands) {}

  std::string kernel(const std::string& name) const {
    std::string text = fmt::format("KERNEL({}, const __grid_constant__ Passes passes) {{", name);
    text += R"cuda(
const uint32 number = find_task(passes.ends);
const Pass& pass = passes.at[number];
const uint32 first_block = number == 0 ? 0 : passes.ends[number - 1];
const Index block = blockIdx.x - first_block, blocks = passes.ends[number] - first_block;
const Places& places = pass.places;
const Dims& dims = pass.dims;
const Numbers& numbers = pass.numbers;
)cuda";
    text += pointers();
    text += R"cuda(
const Index count = (Index)pass.count;
const Index step = blocks * blockDim.x * WIDTH;
for (Index i = (block * blockDim.x + threadIdx.x) * WIDTH; i < count; i += step) {
const bool whole = i < (Index)pass.wide;
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
    std::string text = "struct Offsets {\nIndex at[" + std::to_string(operands_.nest.moves.size()) +
                       "];\n};\nDEVICE Offsets offsets(Index rest, const Dims& dims) {\n";
    text += coordinates(rank()) + "Offsets offsets;\n";
    for (std::size_t p = 0; p < operands_.nest.moves.size(); ++p) {
      text += fmt::format("offsets.at[{}] = {};\n", p, offset_along(operands_.nest.moves[p]));
    }
    return text + "return offsets;\n}\n";
  }

 private:
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
    return "if (i < (Index)pass.rows) {\nconst Offsets first = offsets(i, dims);\n" + vectors +
           "} else {\nEACH_LANE(l) {\n"
           "const Offsets here = offsets(l < count - i ? i + l : count - 1, dims);\n" +
           each + "}\n}\n";
  }

  /// All members for lane l.
  std::string members() const {
    Writer writer;
    std::vector<FusedValue> inputs, values;
    for (std::size_t k = 0; k < operands_.inputs.size(); ++k) {
      const FusedOperand& input = operands_.inputs[k];
      const char* const format = input.kind == Kind::kOne ? "a{}" : "a{}.at[l]";
      inputs.push_back(named(writer, input.view.type.dtype, fmt::format(fmt::runtime(format), k)));
    }
    std::string stores;
    std::size_t result = 0;
    for (std::size_t m = 0; m < group_.members.size(); ++m) {
      const FusionGroup::Member& member = group_.members[m];
      values.push_back(is_constant(member)
                           ? number_in(writer, group_, m)
                           : computed(writer, member, operands_of(member, inputs, values)));
      if (member.is_read)
        stores += fmt::format("b{}.at[l] = {};\n", result++, values.back().stored);
    }
    return writer.statements() + stores;
  }

  std::vector<FusedValue> operands_of(const FusionGroup::Member& member,
                                      const std::vector<FusedValue>& inputs,
                                      const std::vector<FusedValue>& values) const {
    std::vector<FusedValue> x;
    for (std::size_t o = 0; o < member.operands.size(); ++o) {
      const std::size_t from = member.operands[o];
      x.push_back(from < group_.inputs.size() ? inputs.at(find_operand(operands_.inputs, member, o))
                                              : values.at(from - group_.inputs.size()));
    }
    return x;
  }

  const FusionGroup& group_;
  const FusedOperands& operands_;
};

}  // namespace

std::string fused_text(const FusionGroup& group, const FusedOperands& operands,
                       const std::string& name) {
  const FusedText text(group, operands);
  return std::string(kFusedHelpers).append(kBesideText) + kPasses + text.offsets() +
         text.kernel(name);
}

}  // namespace meshwork::cuda
