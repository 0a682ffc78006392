#include "backend/cuda/movement/kernels.h"

#include <array>

#include "backend/cuda/kernels.h"

namespace meshwork::cuda {

std::span<const KernelDef> movement_kernels() {
  static const auto list = std::to_array<KernelDef>({
      {"add_part", add_part},
      {"cast", cast},
      {"constant", constant},
      {"identity_matrix", identity_matrix},
      {"iota", iota},
      {"pad", pad},
      {"reshape", reshape},
  });
  return list;
}

}  // namespace meshwork::cuda
