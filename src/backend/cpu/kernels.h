#pragma once

#include <span>

#include "backend/cpu/siblings.h"

/// Fast kernels: oneDNN, and loops that vectorize. What is not here the naive ones do.
namespace meshwork::cpu {

/// Below so many multiplications a product runs on one thread: others cost more than they save.
constexpr std::int64_t kSerialProduct = std::int64_t{1} << 19;

/// Vectors hold so many float32.
constexpr std::int64_t kLanes = 16;

/// Bytes in whole lines of the caches.
constexpr std::int64_t whole_lines(std::int64_t bytes) { return (bytes + 63) / 64 * 64; }

Launch add_part(const KernelArgs& args);
Launch argmax(const KernelArgs& args);
Launch assign_slots(const KernelArgs& args);
Launch attention_forward(const SiblingArgs& args);
std::int64_t attention_forward_workspace(const SiblingArgs& args);
Launch attention_gradients(const SiblingArgs& args);
std::int64_t attention_gradients_workspace(const SiblingArgs& args);
Launch cast(const KernelArgs& args);
Launch combine(const KernelArgs& args);
Launch convert_stored(const KernelArgs& args);
Launch convolution(const KernelArgs& args);
std::int64_t convolution_workspace(const KernelArgs& args);
Launch convolution_backward_data(const KernelArgs& args);
std::int64_t convolution_backward_data_workspace(const KernelArgs& args);
Launch convolution_backward_filter(const KernelArgs& args);
std::int64_t convolution_backward_filter_workspace(const KernelArgs& args);
Launch crossentropy(const KernelArgs& args);
Launch crossentropy_gradient(const KernelArgs& args);
Launch dispatch(const KernelArgs& args);
Launch einsum(const KernelArgs& args);
std::int64_t einsum_workspace(const KernelArgs& args);
Launch embedding(const KernelArgs& args);
Launch embedding_gradient(const KernelArgs& args);
Launch log_softmax(const KernelArgs& args);
Launch max_pool(const KernelArgs& args);
Launch max_pool_input(const KernelArgs& args);
Launch shifted_sums(const KernelArgs& args);
Launch pad(const KernelArgs& args);
Launch random_normal(const KernelArgs& args);
Launch random_uniform(const KernelArgs& args);
Launch reduce_max(const KernelArgs& args);
Launch reduce_sum(const KernelArgs& args);
std::int64_t reduce_workspace(const KernelArgs& args);
Launch rotary(const KernelArgs& args);
Launch scale_offset(const KernelArgs& args);
Launch scale_offset_sums(const KernelArgs& args);
std::int64_t channel_sums_workspace(const KernelArgs& args);
Launch softmax(const KernelArgs& args);
Launch sparse_einsum(const KernelArgs& args);
std::int64_t sparse_einsum_workspace(const KernelArgs& args);
Launch sum_of_squares(const KernelArgs& args);
std::int64_t sum_of_squares_workspace(const KernelArgs& args);
Launch sum_pool(const KernelArgs& args);
Launch sum_pool_input(const KernelArgs& args);
Launch take_rows(const KernelArgs& args);
Launch truncated_normal(const KernelArgs& args);
Launch write_rows(const KernelArgs& args);

/// The ops that have a fast kernel: those of elementwise/, of movement.h, and all others.
std::span<const KernelDef> elementwise_kernels();
std::span<const KernelDef> movement_kernels();
std::span<const KernelDef> kernels();

}  // namespace meshwork::cpu
