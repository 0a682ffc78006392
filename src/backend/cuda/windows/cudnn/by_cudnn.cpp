// A convolution by cuDNN's graphs of operations. Images are channels last, as they are; of a filter
// [window.., in, filters] cuDNN's kernels want [filters, window.., in], so it is transposed on the
// way, into scratch or out of it: of a layer of 512 x 512 x 3 x 3 in bfloat16 9 MB are moved, of
// which reads and writes stay in the cache.
#include "backend/cuda/windows/cudnn/by_cudnn.h"

#include <array>

#include "backend/cuda/movement/strided_copy.h"
#include "backend/cuda/windows/cudnn/session.h"
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

/// A plan with its pointers, ready to be enqueued.
struct Call {
  Gpu& gpu;
  Session& session;
  const Plan& plan;
  Descriptor pointers;

  Call(Gpu& the_gpu, Session& the_session, const Plan& the_plan, std::array<std::byte*, 3> places,
       std::byte* workspace)
      : gpu(the_gpu),
        session(the_session),
        plan(the_plan),
        pointers(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR) {
    const std::array<std::int64_t, 3> ids{1, 2, 3};  // x, w, y
    pointers.set(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, ids);
    pointers.set_all(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR, 3, places.data());
    pointers.set(CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR, workspace);
    pointers.finalize();
  }

  void operator()() const {
    gpu.make_current();
    check(cudnn().cudnnBackendExecute(session.handle(), plan.plan().get(), pointers.get()),
          "enqueuing a convolution");
  }
};

}  // namespace

std::optional<Launch> launch_by_cudnn(CudaStream& stream, const Task& task, std::byte* workspace) {
  if (!cudnn_takes(task)) return std::nullopt;
  Session* const session = Session::of(stream);
  if (session == nullptr) return std::nullopt;
  stream.gpu().make_current();
  const Plan* const plan = session->plan(problem_of(task));
  if (plan == nullptr) return std::nullopt;
  std::byte* const filter = workspace;
  const auto call = std::make_shared<const Call>(stream.gpu(), *session, *plan,
                                                 std::array{task.x.data, filter, task.y.data},
                                                 workspace + filter_bytes(task));
  if (task.sought == Sought::kW) {
    return [call, transposed = transpose(stream, task, filter, task.w.data)] {
      (*call)();
      transposed();
    };
  }
  return [call, transposed = transpose(stream, task, task.w.data, filter)] {
    transposed();
    (*call)();
  };
}

}  // namespace meshwork::cuda::windows
