#pragma once

#include <optional>
#include <string>
#include <vector>

#include "graph/builder.h"
#include "support/host_tensor.h"

namespace meshwork {

/// An operand of a case and how its elements are drawn.
struct CaseInput {
  enum class Kind {
    kUniform,   ///< reals in [low, high], not near a kink of the case
    kDistinct,  ///< a permutation of numbers 1/8 apart around 0
    kIntegers,  ///< whole numbers from low to high, in any dtype
    kNumbers,   ///< a permutation of the whole numbers from low on
  };
  TensorType type;
  Kind kind = Kind::kUniform;
  double low = -1;
  double high = 1;
};

/// One use of an op. Each op is described once, here; tests compare a kernel with the naive one,
/// the gradient with finite differences, a sharded run with the run on one device, all on these.
struct OpCase {
  std::string name;  ///< "add [3, 4], [4]"
  const OpDef* op = nullptr;
  std::vector<CaseInput> inputs;
  Attrs attrs;
  std::optional<CollectiveArgs> collective = {};
  TensorType output;                        ///< what the op must infer
  std::vector<std::size_t> differentiable;  ///< operands with a gradient
  std::vector<double> kinks;                ///< where the op is not smooth in an operand
  double tolerance = 1e-5;           ///< of a kernel against the naive one, relative and absolute
  double gradient_tolerance = 2e-3;  ///< of gradients against finite differences
};

/// All cases, in a fixed order; every op of the registry has at least one.
const std::vector<OpCase>& op_cases();

/// Those that can be, with their float32 operands in a float of 16 bits, but for the statistics of
/// channels, and float32 results asked for where an op can give them.
const std::vector<OpCase>& narrow_cases(DType narrow);
inline const std::vector<OpCase>& bfloat16_cases() { return narrow_cases(DType::kBFloat16); }

/// Appends the use of the op with these operands; its type is what the op infers.
ValueId append(GraphBuilder& b, const OpCase& op_case, std::vector<ValueId> inputs);

/// The same use of the op on float32 operands.
OpCase in_float32(const OpCase& op_case);

/// Farther than this from any kink the elements of kUniform operands are drawn, and farther than
/// this from each other those of kDistinct ones: finite differences take smaller steps.
constexpr double kKinkMargin = 0.05;

/// The elements of operand `index` of a case; the same ones in every call.
HostTensor draw(const OpCase& op_case, std::size_t index);

}  // namespace meshwork
