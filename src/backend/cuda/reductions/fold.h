#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "backend/cuda/kernel.h"

namespace meshwork::cuda {

/// What a fold makes of elements, as source text.
struct Fold {
  std::string name;
  std::string defines;  ///< FOLD and NOTHING; READ: what is folded for each element
};

Fold sum();

/// y = fold of x over `axes`, times a factor, which is 1 for whole numbers. Where each result is
/// folded in parts, their results stand in `scratch` until they are folded in turn.
struct FoldCall {
  TensorView x, y;
  std::vector<std::int64_t> axes;
  Fold fold, of_parts;
  std::byte* scratch = nullptr;
  float factor = 1;
};

/// Bytes of scratch for a fold of x with so many results.
std::int64_t fold_scratch(const TensorView& x, const std::vector<std::int64_t>& axes,
                          std::int64_t results);

/// Folds of which none reads what another writes, in as few launches as their kernels and
/// parameters let. Each has the bits that it has alone.
Launch bind_folds(std::span<const FoldCall> calls, CudaStream& stream);

}  // namespace meshwork::cuda
