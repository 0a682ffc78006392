#pragma once

#include "backend/backend.h"
#include "backend/cuda/products/epilogue.h"
#include "backend/einsum_plan.h"

namespace meshwork::cuda::products {

/// y of any equation element by element, each thread a few: where nothing is summed, as in outer
/// products, or where matrices are so small that tiles of them would be all but empty.
struct ByElements {
  static bool pays(const EinsumPlan& plan);

  static Launch bind(const KernelArgs& args, const Equation& equation, const Epilogue& epilogue);
};

}  // namespace meshwork::cuda::products
