// A convolution by cuDNN's graphs of operations. Images are channels last, as they are; of a filter
// [window.., in, filters] cuDNN's kernels want [filters, window.., in], so it is transposed on the
// way, into scratch or out of it: of a layer of 512 x 512 x 3 x 3 in bfloat16 9 MB are moved, of
// which reads and writes stay in the cache.
#include "backend/cuda/windows/cudnn/by_cudnn.h"

#include "backend/cuda/cudnn/call.h"
#include "backend/cuda/movement/strided_copy.h"
#include "backend/cuda/windows/cudnn/describe.h"
#include "backend/cuda/windows/cudnn/task.h"

namespace meshwork::cuda::windows {
namespace {

/// Between a filter as we store it and as cuDNN does: matrices of [terms of a sum, filters].
Launch transpose(CudaStream& stream, const Task& task, const std::byte* from, std::byte* to) {
  const std::int64_t depth = task.c.depth(), filters = task.c.filters();
  const bool is_ours = task.sought != Sought::kW;
  const std::vector<CopyDim> dims =
      is_ours ? std::vector<CopyDim>{{filters, 1, depth}, {depth, filters, 1}}
              : std::vector<CopyDim>{{depth, 1, filters}, {filters, depth, 1}};
  return copy_all(stream, {{dims, from, to}},
                  static_cast<std::int64_t>(size_of(task.w.type.dtype)));
}

cudnn::TensorCores tensor_cores(const Problem& problem) {
  // Of narrow dtypes our own kernels are no slower without them.
  const bool is_float32 = problem.operand().dtype == DType::kFloat32;
  return is_float32 ? cudnn::TensorCores::kMay : cudnn::TensorCores::kMust;
}

}  // namespace

std::optional<Launch> launch_by_cudnn(CudaStream& stream, const Task& task, std::byte* workspace) {
  if (!cudnn_takes(task)) return std::nullopt;
  const Problem problem = problem_of(task);
  std::byte* const filter = workspace;
  const auto call =
      cudnn::launch(stream,
                    {.text = text_of(problem),
                     .describe = [&](cudnnHandle_t handle) { return describe(handle, problem); },
                     .workspace = problem.workspace,
                     .tensor_cores = tensor_cores(problem)},
                    {.in_memory = {{1, task.x.data}, {2, filter}, {3, task.y.data}},
                     .by_value = {},
                     .workspace = workspace + filter_bytes(task)},
                    "a convolution");
  if (!call) return std::nullopt;
  if (task.sought == Sought::kW) {
    return [call = *call, transposed = transpose(stream, task, filter, task.w.data)] {
      call();
      transposed();
    };
  }
  return [call = *call, transposed = transpose(stream, task, task.w.data, filter)] {
    transposed();
    call();
  };
}

}  // namespace meshwork::cuda::windows
