#include "backend/cuda/windows/cudnn/task.h"

#include "backend/cuda/cudnn/library.h"
#include "backend/cuda/windows/by_products.h"
#include "backend/cuda/windows/cudnn/by_cudnn.h"
#include "base/rounded_up.h"

namespace meshwork::cuda::windows {
namespace {

/// For sums in parts and little tables; small tasks have small ones.
constexpr std::int64_t kSmallWorkspace = std::int64_t{64} << 10;
constexpr std::int64_t kLargeWorkspace = std::int64_t{8} << 20;

/// Parts of a gradient of the filter that are worth their place, in float32.
constexpr std::int64_t kFilterParts = 4;

/// Channels are copied to lines of so many bytes where they have others.
constexpr std::int64_t kLineBytes = 16;

/// Bytes of an image, or a filter, whose lines are filled up.
std::int64_t copy_bytes(const TensorView& tensor, std::int64_t line) {
  if (line == 0) return 0;
  const auto size = static_cast<std::int64_t>(size_of(tensor.type.dtype));
  const std::int64_t lines = num_elements(tensor.type.shape) / line;
  return rounded_up(lines * rounded_up(line * size, kLineBytes), 256);
}

bool has_whole_lines(const Task& task) {
  const auto size = static_cast<std::int64_t>(size_of(operand_dtype(task)));
  return task.c.in * size % kLineBytes == 0 && task.c.out * size % kLineBytes == 0;
}

double flops(const Task& task) {
  return 2.0 * static_cast<double>(num_elements(task.y.type.shape)) *
         static_cast<double>(task.c.depth());
}

bool pays(const Task& task) {
  return !kPointwise.takes(task) && !has_small_groups(task.c) && flops(task) >= cudnn::kFewFlops;
}

/// With windows that lie in the images and their padding as cuDNN counts them.
bool has_plain_windows(const Slides& slides) {
  for (const Slide& slide : slides) {
    if (slide.padding < 0 || padding_behind(slide) < 0) return false;
  }
  return true;
}

}  // namespace

bool takes_tensor_cores(const Task& task) {
  return operand_dtype(task) != DType::kFloat32 || task.tensor_float32;
}

DType operand_dtype(const Task& task) {
  return task.sought == Sought::kX ? task.y.type.dtype : task.x.type.dtype;
}

std::int64_t padding_behind(const Slide& slide) {
  const std::int64_t span = std::int64_t{slide.window - 1} * slide.dilation + 1;
  const std::int64_t missing =
      std::int64_t{slide.y - 1} * slide.stride + span - slide.x - slide.padding;
  // What remains behind the last window is less than a stride.
  return missing < 0 && -missing < slide.stride ? 0 : missing;
}

bool cudnn_takes(const Task& task) {
  for (const TensorView* const tensor : {&task.x, &task.w, &task.y}) {
    const std::int64_t elements = num_elements(tensor->type.shape);
    if (elements == 0 || elements > cudnn::kMostElements) return false;
  }
  // Gradients of filters of 2 channels were wrong by cuDNN 9.19 on an H200.
  if (task.sought == Sought::kW && !has_whole_lines(task)) return false;
  return takes_tensor_cores(task) && has_plain_windows(task.c.slides);
}

bool is_for_cudnn(const Task& task) {
  const cudnn::Choice choice = cudnn::choice();
  if (choice == cudnn::Choice::kNever || !cudnn_takes(task)) return false;
  return choice == cudnn::Choice::kAlways || pays(task);
}

std::int64_t filter_bytes(const Task& task) { return rounded_up(num_bytes(task.w.type), 256); }

std::int64_t algorithm_workspace(const Task& task) {
  std::int64_t bytes = flops(task) < cudnn::kFewFlops ? kSmallWorkspace : kLargeWorkspace;
  if (operand_dtype(task) == DType::kFloat32 || !has_whole_lines(task)) {
    bytes += copy_bytes(task.x, task.c.channels()) + copy_bytes(task.y, task.c.filters()) +
             copy_bytes(task.w, task.c.in);
  }
  if (task.sought == Sought::kW) {
    bytes +=
        kFilterParts * num_elements(task.w.type.shape) * static_cast<std::int64_t>(sizeof(float));
  }
  return bytes;
}

std::int64_t cudnn_workspace(const Task& task) {
  return filter_bytes(task) + algorithm_workspace(task);
}

}  // namespace meshwork::cuda::windows
