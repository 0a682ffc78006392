#pragma once

#include "emulated_gpu/cudnn_descriptors.h"

/// The real libcudnn_graph.so.9, by its path in EMULATED_GPU_CUDNN: without a GPU it checks
/// descriptions, and says which algorithms it has for an H100. Each description has a twin there.
namespace emulated_gpu::cudnn::real {

bool is_there();

cudnnBackendDescriptor_t create(cudnnBackendDescriptorType_t type);
void destroy(cudnnBackendDescriptor_t twin);

// What the real one says of what the emulated one takes; a line on stderr where it does not.
cudnnStatus_t set(const Descriptor& descriptor, cudnnBackendAttributeName_t name,
                  const Value& value);
cudnnStatus_t finalize(const Descriptor& descriptor);

/// How many algorithms its heuristics know; of configurations whose twins they fill, so many.
std::int64_t count_engines(const Descriptor& heuristic);
std::int64_t fill_engines(const Descriptor& heuristic, std::vector<Descriptor*> configurations);

/// Of a plan that is finalized, bytes.
std::int64_t workspace(const Descriptor& plan);

}  // namespace emulated_gpu::cudnn::real
