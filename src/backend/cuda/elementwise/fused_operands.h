#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "backend/backend.h"
#include "backend/cuda/elementwise/broadcast.h"
#include "backend/pass_shape.h"

namespace meshwork::cuda {

/// An input of a fusion group as one or more members read it.
struct FusedOperand {
  enum class Kind {
    kWhole,     ///< as large as the result
    kOne,       ///< one element
    kRepeated,  ///< along some dimensions
  };
  std::size_t input;
  Shape shape;  ///< as it is broadcast to the result
  TensorView view;
  Kind kind;
  std::size_t pattern = 0;  ///< of what is repeated: number of its moves in the nest
};

/// What the kernel of a fusion group reads and writes.
struct FusedOperands {
  Shape shape;                       ///< of all results
  std::vector<FusedOperand> inputs;  ///< each once for each way to broadcast it
  std::vector<TensorView> results;   ///< of members that others read
  Nest nest;                         ///< of what is repeated; nothing is: no dimensions
  std::int64_t
      width;  ///< elements of a vector: 16 bytes of the widest that is as large as the result

  /// Whether all that is as large as the result may be loaded and stored by vectors.
  bool are_wide() const;
  /// Whether the innermost dimension is whole vectors, by which all that repeats may be loaded.
  bool are_rows() const;
};

/// The number of an operand of a member among `inputs`; how many there are where it is none.
template <class Input>
std::size_t find_operand(const std::vector<Input>& inputs, const FusionGroup::Member& member,
                         std::size_t operand) {
  const auto found = std::find_if(inputs.begin(), inputs.end(), [&](const Input& each) {
    return each.input == member.operands[operand] &&
           each.shape == broadcast_shape(member, operand, each.view.type.shape);
  });
  return static_cast<std::size_t>(found - inputs.begin());
}

/// Elements that a thread takes at a time, where the widest of them have so many bytes.
std::int64_t vector_width(std::size_t widest);
/// Whether a tensor begins at a whole vector of `width` elements.
bool is_aligned(const TensorView& view, std::int64_t width);

FusedOperands operands_of(const FusionGroup& group);

}  // namespace meshwork::cuda
