#pragma once

#include "backend/backend.h"

namespace meshwork::cpu {

/// A fusion group of float32, tile by tile: intermediate results stay in the first cache.
Launch bind_fusion(const FusionGroup& args);
std::int64_t fusion_workspace(const FusionGroup& args);

}  // namespace meshwork::cpu
