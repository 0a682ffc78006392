#include "backend/cpu/widen.h"

#include <algorithm>

#include "backend/cpu/kernels.h"
#include "backend/cpu/simd.h"
#include "backend/cpu/store.h"
#include "backend/types.h"
#include "base/parallel.h"

namespace meshwork::cpu {
namespace {

bool is_narrow(const TensorView& view) { return is_narrow_float(view.type.dtype); }

/// visit(view) for each result.
template <class Visit>
void for_each_output(KernelArgs& args, const Visit& visit) {
  visit(args.output);
}
template <class Visit>
void for_each_output(SiblingArgs& args, const Visit& visit) {
  for (auto& output : args.outputs) {
    if (output) visit(*output);
  }
}

template <class Args>
std::vector<TensorView> outputs_of(Args args) {
  std::vector<TensorView> outputs;
  for_each_output(args, [&](const TensorView& view) { outputs.push_back(view); });
  return outputs;
}

template <class Args>
bool any_narrow(const Args& args) {
  const std::vector<TensorView> outputs = outputs_of(args);
  return std::any_of(outputs.begin(), outputs.end(), is_narrow) ||
         std::any_of(args.inputs.begin(), args.inputs.end(), is_narrow);
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
void copy(const TensorView& from, const TensorView& to) {
  const auto run = vectorized<ConvertLoop<From, To>>();
  for_each_range(num_elements(from.type.shape), [&](std::int64_t begin, std::int64_t end) {
    run(from.as<From>() + begin, to.as<To>() + begin, end - begin);
  });
}

void widen(const TensorView& narrow, const TensorView& wide) {
  with_narrow(narrow.type.dtype, [&](auto from) { copy<decltype(from), float>(narrow, wide); });
}

void round(const TensorView& wide, const TensorView& narrow) {
  with_narrow(narrow.type.dtype, [&](auto to) { copy<float, decltype(to)>(wide, narrow); });
}

/// `args` with wide views of what is narrow, operands only if `operands`, in its workspace, which
/// then begins behind them.
template <class Args>
struct Widened {
  Args args;
  std::int64_t bytes = 0;

  Widened(const Args& narrow, bool operands) : args(narrow) {
    const auto widen = [&](TensorView& view) {
      if (is_narrow(view)) view = widened_view(view, narrow.workspace, bytes);
    };
    if (operands) std::for_each(args.inputs.begin(), args.inputs.end(), widen);
    for_each_output(args, widen);
    if (narrow.workspace != nullptr) args.workspace = narrow.workspace + bytes;
  }
};

template <class Args, class Workspace>
std::int64_t workspace_bytes(const Widened<Args>& wide, Workspace workspace) {
  return wide.bytes + (workspace == nullptr ? 0 : workspace(wide.args));
}

template <class Args, class BindArgs>
Launch bind_around(const Args& args, BindArgs bind, const Widened<Args>& wide) {
  return [narrow = args.inputs, wide = wide.args.inputs, results = outputs_of(args),
          wide_results = outputs_of(wide.args), run = bind(wide.args)] {
    for (std::size_t i = 0; i < narrow.size(); ++i) {
      if (wide[i].type.dtype != narrow[i].type.dtype) widen(narrow[i], wide[i]);
    }
    run();
    for (std::size_t i = 0; i < results.size(); ++i) {
      if (is_narrow(results[i])) round(wide_results[i], results[i]);
    }
  };
}

}  // namespace

Launch bind_widened(const KernelArgs& args, Bind bind) {
  return any_narrow(args) ? bind_around(args, bind, Widened(args, true)) : bind(args);
}

std::int64_t widened_workspace(const KernelArgs& args, WorkspaceBytes workspace) {
  return workspace_bytes(Widened(args, true), workspace);
}

Launch bind_widened(const SiblingArgs& args, BindSiblings bind) {
  return any_narrow(args) ? bind_around(args, bind, Widened(args, true)) : bind(args);
}

std::int64_t widened_workspace(const SiblingArgs& args, SiblingsBytes workspace) {
  return workspace_bytes(Widened(args, true), workspace);
}

Launch bind_wide_result(const KernelArgs& args, Bind bind) {
  return is_narrow(args.output) ? bind_around(args, bind, Widened(args, false)) : bind(args);
}

std::int64_t wide_result_workspace(const KernelArgs& args, WorkspaceBytes workspace) {
  return workspace_bytes(Widened(args, false), workspace);
}

}  // namespace meshwork::cpu
