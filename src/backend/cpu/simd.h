#pragma once

#include "base/simd.h"

namespace meshwork::cpu {

using meshwork::build_for;
using meshwork::Isa;
using meshwork::machine_isa;
using meshwork::vectorized;

}  // namespace meshwork::cpu
