#pragma once

#include <span>
#include <string>
#include <string_view>

#include "backend/cuda/elementwise/symbol.h"
#include "base/dtype.h"

namespace meshwork::cuda {

/// Writes the formula of an elementwise op down: its operands are names of numbers of `dtype`,
/// which is no float of 16 bits, but of a condition, which is a float. Gives what stands for the
/// result: of `dtype`, of a comparison a float.
using WriteFormula = std::string (*)(Writer& writer, DType dtype,
                                     std::span<const std::string> operands);

/// That of the entries of elementwise/list.h and of the other ops that fusion groups have. nullptr:
/// there is none.
WriteFormula find_formula(std::string_view op);

}  // namespace meshwork::cuda
