#include "backend/cuda/tables/kernels.h"

#include <array>

#include "backend/cuda/kernels.h"
#include "backend/slots.h"

namespace meshwork::cuda {

std::span<const KernelDef> table_kernels() {
  static const auto list = std::to_array<KernelDef>({
      {"assign_slots", assign_slots},
      {"combine", combine},
      {"convert", convert_stored},
      {"dispatch", dispatch, dispatch_bytes},
      {"embedding", embedding},
      {"embedding_gradient", embedding_gradient, embedding_gradient_workspace},
      {"one_hot", one_hot},
      {"pack_chosen", pack_chosen, chosen_bytes},
      {"take_along_axis", take_along_axis},
      {"take_rows", take_rows},
      {"unpack_chosen", unpack_chosen, chosen_bytes},
      {"write_rows", write_rows, write_rows_workspace},
  });
  return list;
}

}  // namespace meshwork::cuda
