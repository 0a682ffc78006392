#pragma once

#include <vector>

#include "backend/backend.h"
#include "graph/op_def.h"
#include "support/dice.h"

namespace meshwork::testing {

/// A fusion group with memory of the host for all that it names.
struct BoundFusion {
  FusionGroup args;
  std::vector<std::vector<float>> memory;

  /// Multiples of 1/8 in [-5, 5], of float32 or of bfloat16.
  TensorView add(const Shape& shape, Dice& dice);
  TensorView add_narrow(const Shape& shape, Dice& dice);
  /// Whole numbers, of int32 or int64, of which float32 does not hold all.
  TensorView add_whole(const Shape& shape, Dice& dice);
};

/// The elementwise ops, but for casts.
std::vector<const OpDef*> fusion_ops();

/// Members of random ops of `known` over random operands: results of earlier members, numbers and
/// inputs of all kinds; half of the time with casts from and to bfloat16, and from whole numbers,
/// behind them.
BoundFusion random_chain(Dice& dice, const Shape& shape, int length,
                         const std::vector<const OpDef*>& known);

/// The same, and at the end sums of rows of members and inputs, what is made of these, and what is
/// made of that for each element. `shape` has a dimension.
BoundFusion random_rows(Dice& dice, const Shape& shape, int length,
                        const std::vector<const OpDef*>& known);

}  // namespace meshwork::testing
