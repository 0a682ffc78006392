#include "backend/cuda/attention/cudnn/task.h"

#include <fmt/format.h>

#include <algorithm>

#include "backend/cuda/cudnn/library.h"
#include "graph/attention_options.h"

namespace meshwork::cuda::attention {
namespace {

constexpr std::int64_t kLineBytes = 16;
constexpr std::int64_t kMostFeatures = 128;

bool is_plain(const AttentionOptions& options, const AttentionExtras& extras) {
  return options.window == 0 && options.rate == 0 && !extras.mask && !extras.step &&
         !extras.shift && !extras.key_segments;
}

bool has_whole_lines(std::int64_t features) {
  return features * 2 % kLineBytes == 0 && features <= kMostFeatures;
}

/// Of operands that are not there yet it is known that they will.
bool are_aligned(const std::vector<TensorView>& inputs) {
  return std::all_of(inputs.begin(), inputs.end(), [](const TensorView& input) {
    return reinterpret_cast<std::uintptr_t>(input.data) % kLineBytes == 0;
  });
}

}  // namespace

std::int64_t Task::most_elements() const {
  return std::max(b * heads * t, b * groups * s) * std::max(d, e);
}

double Task::flops(double products) const {
  const double all = 2 * products * static_cast<double>(b * heads * t) * static_cast<double>(s) *
                     static_cast<double>(std::max(d, e));
  return causal ? all / 2 : all;
}

std::optional<Task> task_of(const Request& request, std::size_t fixed) {
  const std::vector<TensorView>& inputs = request.inputs;
  const AttentionOptions options = attention_options(request.attrs);
  if (!is_plain(options, attention_extras(fixed, inputs.size(), request.attrs))) {
    return std::nullopt;
  }
  const Shape &q = inputs[0].type.shape, &v = inputs[2].type.shape;
  Task task{.dtype = inputs[0].type.dtype,
            .b = q[0],
            .heads = q[2] * q[3],
            .groups = q[2],
            .t = q[1],
            .s = v[1],
            .d = q[4],
            .e = v[3],
            .causal = options.causal,
            .scale = static_cast<float>(options.scale)};
  if (!is_narrow_float(task.dtype) || !has_whole_lines(task.d) || !has_whole_lines(task.e) ||
      std::min({task.b, task.heads, task.t, task.s, task.d, task.e}) == 0 || !are_aligned(inputs) ||
      task.most_elements() > cudnn::kMostElements) {
    return std::nullopt;
  }
  // Of a sequence that is cut, queries may stand behind all keys, and then see all of them.
  const std::int64_t distance = inputs[0].region.offset[1] - inputs[1].region.offset[1];
  if (task.causal && distance >= task.s - 1) task.causal = false;
  if (task.causal && distance != 0) return std::nullopt;
  return task;
}

bool is_for_cudnn(const Task& task, double products) {
  const cudnn::Choice choice = cudnn::choice();
  if (choice == cudnn::Choice::kWhatPays) return task.flops(products) >= cudnn::kFewFlops;
  return choice == cudnn::Choice::kAlways;
}

std::string text_of(const Task& task) {
  return fmt::format("{} b={} heads={} of {} t={} s={} d={} e={} causal={}\n",
                     to_string(task.dtype), task.b, task.heads, task.groups, task.t, task.s, task.d,
                     task.e, task.causal);
}

}  // namespace meshwork::cuda::attention
