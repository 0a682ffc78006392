#include "backend/cpu/kernels.h"

#include <array>

#include "backend/cpu/widen.h"
#include "backend/slots.h"

namespace meshwork::cpu {
namespace {

constexpr SiblingKernel kForward{
    {"attention", "attention_log_sum"}, attention_forward, attention_forward_workspace};
constexpr SiblingKernel kGradients{
    {"attention_query_gradient", "attention_key_gradient", "attention_value_gradient"},
    attention_gradients,
    attention_gradients_workspace};

}  // namespace

std::span<const SiblingKernel> sibling_kernels() {
  static constexpr std::array kList{kForward, kGradients};
  return kList;
}

std::span<const KernelDef> kernels() {
  static const auto list = std::to_array<KernelDef>({
      {"add_part", add_part},
      {"argmax", argmax},
      {"assign_slots", assign_slots},
      sibling<kForward, 0>(),
      sibling<kGradients, 1>(),
      sibling<kForward, 1>(),
      sibling<kGradients, 0>(),
      sibling<kGradients, 2>(),
      {"cast", cast},
      {"combine", combine},
      {"convert", convert_stored},
      {"convolution", convolution, convolution_workspace},
      {"convolution_backward_data", convolution_backward_data, convolution_backward_data_workspace},
      {"convolution_backward_filter", convolution_backward_filter,
       convolution_backward_filter_workspace},
      {"crossentropy", crossentropy},
      {"crossentropy_gradient", crossentropy_gradient},
      {"dispatch", dispatch, dispatch_bytes},
      {"einsum", einsum, einsum_workspace},
      {"embedding", embedding},
      widened<embedding_gradient>("embedding_gradient"),
      widened<log_softmax>("log_softmax"),
      widened<max_pool>("max_pool"),
      widened<max_pool_input>("max_pool_input"),
      {"packed_einsum", sparse_einsum, sparse_einsum_workspace},
      {"pad", pad},
      {"random_normal", random_normal},
      {"random_uniform", random_uniform},
      {"reduce_max", reduce_max, reduce_workspace},
      {"reduce_sum", reduce_sum, reduce_workspace},
      {"rotary", rotary},
      {"scale_offset", scale_offset},
      {"scale_offset_sums", scale_offset_sums, channel_sums_workspace},
      {"shifted_sums", shifted_sums, channel_sums_workspace},
      widened<softmax>("softmax"),
      {"sparse_einsum", sparse_einsum, sparse_einsum_workspace},
      widened<sum_of_squares, sum_of_squares_workspace>("sum_of_squares"),
      widened<sum_pool>("sum_pool"),
      widened<sum_pool_input>("sum_pool_input"),
      {"take_rows", take_rows},
      {"truncated_normal", truncated_normal},
      {"write_rows", write_rows},
  });
  return list;
}

}  // namespace meshwork::cpu
