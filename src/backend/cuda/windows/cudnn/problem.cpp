#include "backend/cuda/windows/cudnn/problem.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "backend/cuda/windows/cudnn/task.h"

namespace meshwork::cuda::windows {
namespace {

constexpr std::uintptr_t kMostAlignment = 16;

Tensor tensor(std::int64_t id, const TensorView& view, std::int64_t first, std::int64_t second) {
  const auto place = reinterpret_cast<std::uintptr_t>(view.data) | kMostAlignment;
  return {id, view.type.dtype, {first, second}, static_cast<std::int64_t>(place & (~place + 1))};
}

std::string text_of(const std::vector<std::int64_t>& numbers) {
  return fmt::format("[{}]", fmt::join(numbers, ", "));
}

std::string text_of(const Tensor& tensor) {
  return fmt::format("{} {} {} aligned by {}\n", tensor.id, to_string(tensor.dtype),
                     text_of(tensor.dims), tensor.alignment);
}

}  // namespace

Problem problem_of(const Task& task) {
  const Convolution& c = task.c;
  Problem problem{.sought = task.sought,
                  .tensor_float32 = task.tensor_float32,
                  .workspace = algorithm_workspace(task),
                  .x = tensor(1, task.x, c.images, c.channels()),
                  .w = tensor(2, task.w, c.filters(), c.in),
                  .y = tensor(3, task.y, c.images, c.filters()),
                  .strides = {},
                  .dilations = {},
                  .padding = {},
                  .padding_behind = {}};
  problem.w.alignment = kMostAlignment;  // it stands in scratch
  const Slide& first = c.slides[0];
  const bool flat = first.x == 1 && first.y == 1 && first.window == 1 && first.padding == 0;
  for (std::size_t d = flat ? 1 : 0; d < kSpatial; ++d) {
    const Slide& slide = c.slides[d];
    problem.x.dims.push_back(slide.x);
    problem.w.dims.push_back(slide.window);
    problem.y.dims.push_back(slide.y);
    problem.strides.push_back(slide.stride);
    problem.dilations.push_back(slide.dilation);
    problem.padding.push_back(slide.padding);
    problem.padding_behind.push_back(padding_behind(slide));
  }
  return problem;
}

std::string text_of(const Problem& p) {
  return fmt::format("convolution {} of\n{}{}{}tensor_float32={} workspace={}\n",
                     static_cast<int>(p.sought), text_of(p.x), text_of(p.w), text_of(p.y),
                     p.tensor_float32, p.workspace) +
         fmt::format("strides={} dilations={} padding={} behind={}\n", text_of(p.strides),
                     text_of(p.dilations), text_of(p.padding), text_of(p.padding_behind));
}

}  // namespace meshwork::cuda::windows
