#include "backend/cpu/widen.h"

#include <algorithm>

#include "backend/cpu/convert.h"
#include "backend/cpu/kernels.h"
#include "backend/cpu/simd.h"
#include "base/parallel.h"

namespace meshwork::cpu {
namespace {

bool is_narrow(const TensorView& view) { return view.type.dtype == DType::kBFloat16; }

bool any_narrow(const KernelArgs& args) {
  return is_narrow(args.output) || std::any_of(args.inputs.begin(), args.inputs.end(), is_narrow);
}

/// The view of the same tensor in float32 at the place `bytes`, which moves behind it.
TensorView widened_view(const TensorView& view, std::byte* workspace, std::int64_t& bytes) {
  TensorView wide = view;
  wide.type.dtype = DType::kFloat32;
  wide.data = workspace == nullptr ? nullptr : workspace + bytes;
  bytes += whole_lines(num_bytes(wide.type));
  return wide;
}

template <class From, class To>
struct CopyLoop {
  [[gnu::always_inline]] static void run(const From* from, To* to, std::int64_t count) {
#pragma omp simd
    for (std::int64_t i = 0; i < count; ++i) store(to[i], from[i]);
  }
};

template <class From, class To>
void copy(const TensorView& from, const TensorView& to) {
  const auto run = vectorized<CopyLoop<From, To>>();
  for_each_range(num_elements(from.type.shape), [&](std::int64_t begin, std::int64_t end) {
    run(from.as<From>() + begin, to.as<To>() + begin, end - begin);
  });
}

/// `args` with wide views of what is narrow, operands only if `operands`, in its workspace, which
/// then begins behind them.
struct Widened {
  KernelArgs args;
  std::int64_t bytes = 0;

  Widened(const KernelArgs& narrow, bool operands) : args(narrow) {
    for (TensorView& input : args.inputs) {
      if (operands && is_narrow(input)) input = widened_view(input, narrow.workspace, bytes);
    }
    if (is_narrow(args.output)) {
      args.output = widened_view(args.output, narrow.workspace, bytes);
    }
    if (narrow.workspace != nullptr) args.workspace = narrow.workspace + bytes;
  }
};

std::int64_t workspace_bytes(const Widened& wide, WorkspaceBytes workspace) {
  return wide.bytes + (workspace == nullptr ? 0 : workspace(wide.args));
}

Launch bind_around(const KernelArgs& args, Bind bind, const Widened& wide) {
  return [narrow = args, wide = wide.args, run = bind(wide.args)] {
    for (std::size_t i = 0; i < narrow.inputs.size(); ++i) {
      if (wide.inputs[i].type.dtype != narrow.inputs[i].type.dtype) {
        copy<BFloat16, float>(narrow.inputs[i], wide.inputs[i]);
      }
    }
    run();
    if (is_narrow(narrow.output)) copy<float, BFloat16>(wide.output, narrow.output);
  };
}

}  // namespace

Launch bind_widened(const KernelArgs& args, Bind bind) {
  return any_narrow(args) ? bind_around(args, bind, Widened(args, true)) : bind(args);
}

std::int64_t widened_workspace(const KernelArgs& args, WorkspaceBytes workspace) {
  return workspace_bytes(Widened(args, true), workspace);
}

Launch bind_wide_result(const KernelArgs& args, Bind bind) {
  return is_narrow(args.output) ? bind_around(args, bind, Widened(args, false)) : bind(args);
}

std::int64_t wide_result_workspace(const KernelArgs& args, WorkspaceBytes workspace) {
  return workspace_bytes(Widened(args, false), workspace);
}

}  // namespace meshwork::cpu
