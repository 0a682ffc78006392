#pragma once

#include <cstdint>
#include <string_view>

namespace meshwork::cpu {

/// y[i] = f(operands[0][i], ..) for `count` contiguous floats; an operand whose bit in `repeats` is
/// set is one float. y may be an operand that does not repeat.
using FusionStep = void (*)(const float* const* operands, unsigned repeats, float* y,
                            std::int64_t count);

/// The step of an elementwise op, for this machine; nullptr: there is none.
FusionStep find_fusion_step(std::string_view op);

}  // namespace meshwork::cpu
