// Descriptions for tests of the emulated cuDNN.
#pragma once

#include <cudnn_graph.h>

#include <cstdint>
#include <map>
#include <vector>

#include "emulated_gpu/library.h"

namespace emulated_gpu::testing {

#define CUDNN(name) (*::emulated_gpu::testing::find<decltype(name)>("libcudnn.so.9", #name))

using Integers = std::vector<std::int64_t>;
using Description = cudnnBackendDescriptor_t;

/// Given back when the process ends.
Description create(cudnnBackendDescriptorType_t type);
cudnnHandle_t create_handle(CUstream stream = nullptr);

cudnnStatus_t set(Description of, cudnnBackendAttributeName_t name, const Integers& values);
cudnnStatus_t set(Description of, cudnnBackendAttributeName_t name,
                  const std::vector<Description>& others);
template <class Value>
cudnnStatus_t set(Description of, cudnnBackendAttributeName_t name,
                  cudnnBackendAttributeType_t type, Value value) {
  return CUDNN(cudnnBackendSetAttribute)(of, name, type, 1, &value);
}
cudnnStatus_t finalize(Description description);

/// Not finalized; with float32 numbers.
Description tensor(std::int64_t id, const Integers& dims, const Integers& strides,
                   std::int64_t alignment = 16);

/// Strides of dims one after the other, the last one fastest.
Integers packed(const Integers& dims);

/// A graph in the making: what it adds is finalized, or the test ends.
class Graph {
 public:
  Description in_memory(std::int64_t id, cudnnDataType_t type, const Integers& dims,
                        const Integers& strides, std::int64_t alignment = 16);
  Description by_value(std::int64_t id);
  /// A virtual one; packed where no strides are given.
  Description between(const Integers& dims, cudnnDataType_t type = CUDNN_DATA_FLOAT,
                      Integers strides = {});

  // Operations; they return their result.
  Description pointwise(cudnnPointwiseMode_t mode, const std::vector<Description>& from,
                        Description to, std::int64_t axis = -1);
  Description product(Description a, Description b, Description to);
  Description reduction(cudnnReduceTensorOp_t how, Description from, Description to);
  Description reshape(Description from, Description to);

  /// Of all operations.
  Description finish(cudnnHandle_t handle) const;

 private:
  std::vector<Description> operations_;
  std::int64_t last_ = 1000;  ///< number of a tensor that the graph has named
};

/// What the heuristics give, and what is to be known of it.
struct Choice {
  Description configuration = nullptr;
  std::vector<cudnnBackendNumericalNote_t> notes;
  bool is_compiled = false;

  bool has(cudnnBackendNumericalNote_t note) const;
  /// Whether tensor cores are all that it tells of.
  bool is_exact() const;
};
std::vector<Choice> choices(Description graph);

/// A plan of a choice, or of a text; nullptr where it is refused.
Description plan(cudnnHandle_t handle, const Choice& choice);
Description plan(cudnnHandle_t handle, const std::string& text);
/// The first of a choice that is exact.
Description exact_plan(cudnnHandle_t handle, Description graph);
std::int64_t workspace(Description plan);
std::string text(Description plan);

/// Enqueues it on the handle's stream, with pointers by the numbers of tensors.
cudnnStatus_t execute(cudnnHandle_t handle, Description plan,
                      const std::map<std::int64_t, void*>& pointers);

}  // namespace emulated_gpu::testing
