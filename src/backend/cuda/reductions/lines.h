#pragma once

#include <string>
#include <string_view>

#include "backend/cuda/kernel.h"

namespace meshwork::cuda {

/// The lines of a dense tensor [outer, extent, inner] along its second dimension. The kernels have
/// the same struct.
struct Lines {
  std::int64_t count, extent, inner;
  std::int32_t lanes;   ///< threads of a line
  std::int32_t width;   ///< lines side by side, of neighbouring threads; 0: lanes are neighbours
  std::int32_t chunks;  ///< of `held` elements for each thread
};

/// How lines are shared out to threads. A line of one chunk is read once and stays in registers.
struct LinePlan {
  Lines lines;
  int held;                ///< elements that a thread holds at once
  int pack;                ///< elements that it reads at once
  bool is_ragged = false;  ///< lines begin and end within packs
  Grid grid;
};

/// Lines of operand 0 along `axis`, for kernels that read or write the `tensors` in packs.
LinePlan plan_lines(const KernelArgs& args, std::int64_t axis,
                    std::initializer_list<const TensorView*> tensors);

Source lines_source(const KernelArgs& args, const std::string& name, std::string_view text,
                    const LinePlan& plan);

/// The kernel `name` of a text whose kernels work on lines and take Lines last. The text knows T,
/// the dtype of operand 0, and all that lines.cpp says.
template <class... Arguments>
Launch launch_lines(const KernelArgs& args, const std::string& name, std::string_view text,
                    const LinePlan& plan, Arguments... arguments) {
  return kernel_launch(stream_of(args), lines_source(args, name, text, plan), name, plan.grid,
                       arguments..., plan.lines);
}

}  // namespace meshwork::cuda
