#pragma once

#include "backend/backend.h"

namespace meshwork::cpu {

/// A chain of float32, tile by tile: intermediate results stay in the first cache.
Launch bind_chain(const ChainArgs& args);
std::int64_t chain_workspace(const ChainArgs& args);

}  // namespace meshwork::cpu
