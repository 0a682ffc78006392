#pragma once

#include <span>

#include "backend/backend.h"

/// Naive kernels: the definition of each op, for any rank, broadcasting and extents of zero.
namespace meshwork::reference {

Launch add_part(const KernelArgs& args);
Launch argmax(const KernelArgs& args);
Launch assign_slots(const KernelArgs& args);
Launch attention(const KernelArgs& args);
Launch attention_log_sum(const KernelArgs& args);
Launch attention_query_gradient(const KernelArgs& args);
Launch attention_key_gradient(const KernelArgs& args);
Launch attention_value_gradient(const KernelArgs& args);
Launch broadcast_to(const KernelArgs& args);
Launch cast(const KernelArgs& args);
Launch combine(const KernelArgs& args);
Launch concatenate(const KernelArgs& args);
Launch constant(const KernelArgs& args);
Launch convert_stored(const KernelArgs& args);
Launch convolution(const KernelArgs& args);
Launch convolution_backward_data(const KernelArgs& args);
Launch convolution_backward_filter(const KernelArgs& args);
Launch crossentropy(const KernelArgs& args);
Launch crossentropy_gradient(const KernelArgs& args);
Launch dispatch(const KernelArgs& args);
Launch einsum(const KernelArgs& args);
Launch einsum_bias(const KernelArgs& args);
Launch embedding(const KernelArgs& args);
Launch embedding_gradient(const KernelArgs& args);
Launch halo_pack(const KernelArgs& args);
Launch halo_unpack(const KernelArgs& args);
Launch identity_matrix(const KernelArgs& args);
Launch iota(const KernelArgs& args);
Launch log_softmax(const KernelArgs& args);
Launch max_pool(const KernelArgs& args);
Launch max_pool_input(const KernelArgs& args);
Launch channel_moments(const KernelArgs& args);
Launch shifted_sums(const KernelArgs& args);
Launch one_hot(const KernelArgs& args);
Launch orthogonal(const KernelArgs& args);
std::int64_t orthogonal_workspace(const KernelArgs& args);
Launch pack(const KernelArgs& args);
Launch pack_chosen(const KernelArgs& args);
Launch pad(const KernelArgs& args);
Launch take_along_axis(const KernelArgs& args);
Launch random_normal(const KernelArgs& args);
Launch random_uniform(const KernelArgs& args);
Launch reduce_max(const KernelArgs& args);
Launch reduce_sum(const KernelArgs& args);
Launch reshape(const KernelArgs& args);
Launch scale_offset(const KernelArgs& args);
Launch scale_offset_sums(const KernelArgs& args);
Launch rotary(const KernelArgs& args);
Launch scaled_sum(const KernelArgs& args);
Launch slice(const KernelArgs& args);
Launch softmax(const KernelArgs& args);
Launch sparse_einsum(const KernelArgs& args);
std::int64_t sparse_einsum_workspace(const KernelArgs& args);
Launch sparsemax(const KernelArgs& args);
std::int64_t sparsemax_workspace(const KernelArgs& args);
Launch sum_of_squares(const KernelArgs& args);
Launch sum_pool(const KernelArgs& args);
Launch sum_pool_input(const KernelArgs& args);
Launch take_rows(const KernelArgs& args);
Launch transpose(const KernelArgs& args);
Launch transpose_blocks(const KernelArgs& args);
Launch truncated_normal(const KernelArgs& args);
Launch unpack(const KernelArgs& args);
Launch unpack_chosen(const KernelArgs& args);
Launch write_rows(const KernelArgs& args);

/// Every op that computes; those of elementwise/ and all others.
std::span<const KernelDef> elementwise_kernels();
std::span<const KernelDef> kernels();

}  // namespace meshwork::reference
