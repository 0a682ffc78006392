#pragma once

#include <string>
#include <vector>

#include "backend/cuda/products/description.h"

namespace meshwork::cuda::products {

/// The algorithms that cuBLASLt's heuristics name for a problem, `most` at most, what they take for
/// the fastest first: of those that give the same bits each time. `text` names the product in the
/// Error that is thrown where there is none; none at all where none has its epilogue.
std::vector<cublasLtMatmulAlgo_t> proposed_algorithms(Gpu& gpu, const Problem& problem,
                                                      const Description& description,
                                                      const std::string& text, int most);

}  // namespace meshwork::cuda::products
