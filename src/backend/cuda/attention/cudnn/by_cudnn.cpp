// Scratch: log_sums as cuDNN has them, head by head, where they stand otherwise; then what an
// algorithm takes.
#include "backend/cuda/attention/cudnn/by_cudnn.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "backend/cuda/attention/cudnn/describe.h"
#include "backend/cuda/cudnn/call.h"
#include "backend/cuda/movement/strided_copy.h"
#include "base/rounded_up.h"
#include "graph/attention_options.h"

namespace meshwork::cuda::attention {
namespace {

constexpr double kForwardProducts = 2, kGradientProducts = 5;

/// For little tables.
constexpr std::int64_t kSmallWorkspace = std::int64_t{64} << 10;

/// Keys for each feature from which on gradients of all weights are not worth their place: they are
/// as many times larger than the queries.
constexpr std::int64_t kMostKeysForFeature = 32;

bool stands_by_head(const Request& request) { return attention_options(request.attrs).by_head; }

std::int64_t log_sum_bytes(const Task& task) {
  return rounded_up(task.b * task.heads * task.t * static_cast<std::int64_t>(sizeof(float)), 256);
}

/// Elements of the gradients of all weights, in tiles of 64 x 128.
std::int64_t weight_gradients(const Task& task) {
  return task.b * task.heads * rounded_up(task.t, 64) * rounded_up(task.s, 128);
}

/// Of the gradients, as cuDNN 9.19 takes it on sm_80 to sm_120: those of weights, and a delta for
/// each query.
std::int64_t gradient_workspace(const Task& task) {
  return weight_gradients(task) * static_cast<std::int64_t>(size_of(task.dtype)) +
         log_sum_bytes(task) + kSmallWorkspace;
}

std::int64_t copy_bytes(const Request& request, const Task& task) {
  return stands_by_head(request) ? 0 : log_sum_bytes(task);
}

bool asks_for_all(const Request& request) {
  return std::all_of(request.asked.begin(), request.asked.end(), [](bool asked) { return asked; });
}

/// y, or y and the log_sum.
std::optional<Task> forward_task(const Request& request) {
  const std::optional<Task> task = task_of(request, kAttentionOperands);
  return task && request.asked[0] && is_for_cudnn(*task, kForwardProducts) ? task : std::nullopt;
}

std::optional<Task> gradient_task(const Request& request) {
  const std::optional<Task> task = task_of(request, kAttentionGradientOperands);
  const bool is_theirs =
      task && asks_for_all(request) && attention_options(request.attrs).with_result &&
      task->heads == task->groups &&  // sums over heads would be rounded first
      task->s <= kMostKeysForFeature * task->d && weight_gradients(*task) <= cudnn::kMostElements &&
      is_for_cudnn(*task, kGradientProducts);
  return is_theirs ? task : std::nullopt;
}

/// Between log_sums as we have them, [b, t, heads], and as cuDNN does.
Launch transpose(const Request& request, const Task& task, const std::byte* from, std::byte* to,
                 bool is_ours) {
  std::vector<CopyDim> dims{{task.b, task.t * task.heads, task.t * task.heads}};
  if (is_ours) {
    dims.push_back({task.heads, 1, task.t});
    dims.push_back({task.t, task.heads, 1});
  } else {
    dims.push_back({task.t, 1, task.heads});
    dims.push_back({task.heads, task.t, 1});
  }
  return copy_all(*request.stream, {{dims, from, to}}, sizeof(float));
}

}  // namespace

std::int64_t cudnn_forward_workspace(const Request& request) {
  const std::optional<Task> task = forward_task(request);
  return task ? copy_bytes(request, *task) + kSmallWorkspace : 0;
}

std::int64_t cudnn_gradients_workspace(const Request& request) {
  const std::optional<Task> task = gradient_task(request);
  return task ? copy_bytes(request, *task) + gradient_workspace(*task) : 0;
}

std::optional<Launch> forward_by_cudnn(const Request& request) {
  const std::optional<Task> task = forward_task(request);
  if (!task) return std::nullopt;
  const auto [y, log_sum] = addresses<2>(request.outputs);
  const auto [q, k, v] = addresses<kAttentionOperands>(request.inputs);
  const bool with_log_sum = log_sum != nullptr;
  std::byte* const theirs = stands_by_head(request) ? log_sum : request.workspace;
  cudnn::Places places{
      .in_memory = {{kQ, q}, {kK, k}, {kV, v}, {kY, y}},
      .by_value = {{kScale, task->scale}},
      .workspace = request.workspace + copy_bytes(request, *task),
  };
  if (with_log_sum) places.in_memory.push_back({kLogSum, theirs});
  if (task->causal) places.by_value.push_back({kHidden, -std::numeric_limits<float>::infinity()});
  const auto attend = cudnn::launch(
      *request.stream,
      {.text = fmt::format("attention, log_sum={}, ", with_log_sum) + text_of(*task),
       .describe =
           [&](cudnnHandle_t handle) { return describe_forward(handle, *task, with_log_sum); },
       .workspace = kSmallWorkspace,
       .tensor_cores = cudnn::TensorCores::kMust},
      std::move(places), "attention");
  if (!attend || !with_log_sum || stands_by_head(request)) return attend;
  return [attend = *attend, transposed = transpose(request, *task, theirs, log_sum, false)] {
    attend();
    transposed();
  };
}

std::optional<Launch> gradients_by_cudnn(const Request& request) {
  const std::optional<Task> task = gradient_task(request);
  if (!task) return std::nullopt;
  const auto [q, k, v, dy, log_sum, y] = addresses<kAttentionGradientOperands>(request.inputs);
  const auto [dq, dk, dv] = addresses<3>(request.outputs);
  std::byte* const theirs = stands_by_head(request) ? log_sum : request.workspace;
  cudnn::Places places{
      .in_memory = {{kQ, q},
                    {kK, k},
                    {kV, v},
                    {kY, y},
                    {kLogSum, theirs},
                    {kDy, dy},
                    {kDq, dq},
                    {kDk, dk},
                    {kDv, dv}},
      .by_value = {{kScale, task->scale}, {kOne, 1.0F}},
      .workspace = request.workspace + copy_bytes(request, *task),
  };
  if (task->causal) places.by_value.push_back({kHidden, -std::numeric_limits<float>::infinity()});
  const auto differentiate = cudnn::launch(
      *request.stream,
      {.text = "gradients of attention, " + text_of(*task),
       .describe = [&](cudnnHandle_t handle) { return describe_gradients(handle, *task); },
       .workspace = gradient_workspace(*task),
       .tensor_cores = cudnn::TensorCores::kMust},
      std::move(places), "gradients of attention");
  if (!differentiate || stands_by_head(request)) return differentiate;
  return [differentiate = *differentiate,
          transposed = transpose(request, *task, log_sum, theirs, true)] {
    transposed();
    differentiate();
  };
}

}  // namespace meshwork::cuda::attention
