#include "backend/cpu/kernels.h"

#include <array>

#include "backend/cpu/widen.h"

namespace meshwork::cpu {

std::span<const KernelDef> kernels() {
  static const auto list = std::to_array<KernelDef>({
      {"add_part", add_part},
      {"argmax", argmax},
      widened<attention, attention_workspace>("attention"),
      widened<attention_key_gradient, attention_gradient_workspace>("attention_key_gradient"),
      widened<attention_log_sum, attention_workspace>("attention_log_sum"),
      widened<attention_query_gradient, attention_gradient_workspace>("attention_query_gradient"),
      widened<attention_value_gradient, attention_gradient_workspace>("attention_value_gradient"),
      {"broadcast_to", broadcast_to},
      {"cast", cast},
      {"concatenate", concatenate},
      {"convert", convert_stored},
      {"convolution", convolution, convolution_workspace},
      {"convolution_backward_data", convolution_backward_data, convolution_backward_data_workspace},
      {"convolution_backward_filter", convolution_backward_filter,
       convolution_backward_filter_workspace},
      {"crossentropy", crossentropy},
      {"crossentropy_gradient", crossentropy_gradient},
      {"einsum", einsum, einsum_workspace},
      {"embedding", embedding},
      widened<embedding_gradient>("embedding_gradient"),
      {"halo_pack", halo_pack},
      {"halo_unpack", halo_unpack},
      widened<log_softmax>("log_softmax"),
      widened<max_pool>("max_pool"),
      widened<max_pool_input>("max_pool_input"),
      {"pack", pack},
      {"pad", pad},
      {"random_normal", random_normal},
      {"random_uniform", random_uniform},
      {"reduce_max", reduce_max, reduce_workspace},
      {"reduce_sum", reduce_sum, reduce_workspace},
      {"scale_offset", scale_offset},
      {"scale_offset_sums", scale_offset_sums, channel_sums_workspace},
      {"shifted_sums", shifted_sums, channel_sums_workspace},
      {"slice", slice},
      widened<softmax>("softmax"),
      widened<sum_pool>("sum_pool"),
      widened<sum_pool_input>("sum_pool_input"),
      {"take_rows", take_rows},
      {"transpose", transpose},
      {"truncated_normal", truncated_normal},
      {"unpack", unpack},
      {"write_rows", write_rows},
  });
  return list;
}

}  // namespace meshwork::cpu
