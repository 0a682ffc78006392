#pragma once

#include <optional>
#include <string>

#include "backend/cuda/products/description.h"

namespace meshwork::cuda::products {

/// The algorithm of a problem, chosen once for a GPU: the one of its table (table.h), else
/// heuristics' first of those that give the same bits each time. `text` names the product in the
/// Error that is thrown where there is none; nothing where there is none that has its epilogue.
std::optional<cublasLtMatmulAlgo_t> algorithm_of(Gpu& gpu, const Problem& problem,
                                                 const Description& description,
                                                 const std::string& text);

}  // namespace meshwork::cuda::products
