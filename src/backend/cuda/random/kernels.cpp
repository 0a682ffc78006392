#include "backend/cuda/random/kernels.h"

#include <array>

#include "backend/cuda/kernels.h"

namespace meshwork::cuda {

std::span<const KernelDef> random_kernels() {
  static const auto list = std::to_array<KernelDef>({
      {"orthogonal", orthogonal, orthogonal_workspace},
      {"random_normal", random_normal},
      {"random_uniform", random_uniform},
      {"truncated_normal", truncated_normal},
  });
  return list;
}

}  // namespace meshwork::cuda
