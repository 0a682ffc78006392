#include "backend/cpu/reference/kernels.h"

#include <array>

#include "backend/cpu/widen.h"

namespace meshwork::reference {

std::span<const KernelDef> kernels() {
  static const auto list = std::to_array<KernelDef>({
      cpu::widened<add_part>("add_part"),
      cpu::widened<argmax>("argmax"),
      {"assign_slots", assign_slots},
      cpu::widened<attention>("attention"),
      cpu::widened<attention_key_gradient>("attention_key_gradient"),
      cpu::widened<attention_log_sum>("attention_log_sum"),
      cpu::widened<attention_query_gradient>("attention_query_gradient"),
      cpu::widened<attention_value_gradient>("attention_value_gradient"),
      {"broadcast_to", broadcast_to},
      {"cast", cast},
      cpu::widened<channel_moments>("channel_moments"),
      {"combine", combine},
      {"concatenate", concatenate},
      {"constant", constant},
      {"convert", convert_stored},
      cpu::widened<convolution>("convolution"),
      cpu::widened<convolution_backward_data>("convolution_backward_data"),
      cpu::widened<convolution_backward_filter>("convolution_backward_filter"),
      cpu::widened<crossentropy>("crossentropy"),
      cpu::widened<crossentropy_gradient>("crossentropy_gradient"),
      {"dispatch", dispatch},
      cpu::widened<einsum>("einsum"),
      cpu::widened<einsum_bias>("einsum_bias"),
      cpu::widened<embedding>("embedding"),
      cpu::widened<embedding_gradient>("embedding_gradient"),
      {"halo_pack", halo_pack},
      {"halo_unpack", halo_unpack},
      {"identity_matrix", identity_matrix},
      {"iota", iota},
      cpu::widened<log_softmax>("log_softmax"),
      cpu::widened<max_pool>("max_pool"),
      cpu::widened<max_pool_input>("max_pool_input"),
      {"one_hot", one_hot},
      {"orthogonal", orthogonal, orthogonal_workspace},
      {"pack", pack},
      {"pack_chosen", pack_chosen},
      cpu::widened<sparse_einsum, sparse_einsum_workspace>("packed_einsum"),
      {"pad", pad},
      {"random_normal", random_normal},
      {"random_uniform", random_uniform},
      cpu::widened<reduce_max>("reduce_max"),
      cpu::widened<reduce_sum>("reduce_sum"),
      {"reshape", reshape},
      cpu::widened<rotary>("rotary"),
      cpu::widened<scale_offset>("scale_offset"),
      cpu::widened<scale_offset_sums>("scale_offset_sums"),
      cpu::widened<scaled_sum>("scaled_sum"),
      cpu::widened<shifted_sums>("shifted_sums"),
      {"slice", slice},
      cpu::widened<softmax>("softmax"),
      cpu::widened<sparse_einsum, sparse_einsum_workspace>("sparse_einsum"),
      cpu::widened<sparsemax, sparsemax_workspace>("sparsemax"),
      cpu::widened<sum_of_squares>("sum_of_squares"),
      cpu::widened<sum_pool>("sum_pool"),
      cpu::widened<sum_pool_input>("sum_pool_input"),
      {"take_along_axis", take_along_axis},
      {"take_rows", take_rows},
      {"transpose", transpose},
      {"transpose_blocks", transpose_blocks},
      {"truncated_normal", truncated_normal},
      {"unpack", unpack},
      {"unpack_chosen", unpack_chosen},
      {"write_rows", write_rows},
  });
  return list;
}

}  // namespace meshwork::reference
