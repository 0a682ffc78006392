#include "backend/cuda/movement/kernels.h"

#include <array>

#include "backend/cuda/kernels.h"

namespace meshwork::cuda {

std::span<const KernelDef> movement_kernels() {
  static const auto list = std::to_array<KernelDef>({
      {"add_part", add_part},
      {"broadcast_to", broadcast_to},
      {"cast", cast},
      {"concatenate", concatenate},
      {"constant", constant},
      {"halo_pack", halo_pack},
      {"halo_unpack", halo_unpack},
      {"identity_matrix", identity_matrix},
      {"iota", iota},
      {"pack", pack},
      {"pad", pad},
      {"reshape", reshape},
      {"slice", slice},
      {"transpose", transpose},
      {"unpack", unpack},
  });
  return list;
}

}  // namespace meshwork::cuda
