#pragma once

#include <cstdint>
#include <string_view>

#include "base/dtype.h"

namespace meshwork::cpu {

/// y[i] = f(operands[0][i], ..) for `count` contiguous elements of type T; an operand whose bit in
/// `repeats` is set is one element. y may be an operand that does not repeat.
template <class T>
using ElementwiseStep = void (*)(const T* const* operands, unsigned repeats, T* y,
                                 std::int64_t count);
using FusionStep = ElementwiseStep<float>;

/// The step of an elementwise op of float32, or of a cast from whole numbers or from or to floats
/// of 16 bits, whose operand or result is then taken as what it is; for this machine. nullptr:
/// there is none.
FusionStep find_fusion_step(std::string_view op, DType from = DType::kFloat32,
                            DType to = DType::kFloat32);

/// y[r] = the sum of row r of x [rows, columns], columns > 0, in the order of reduce_sum.
using RowSums = void (*)(const float* x, std::int64_t columns, std::int64_t rows, float* y);
RowSums find_row_sums();

}  // namespace meshwork::cpu
