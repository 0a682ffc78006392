// The graphs by which cuDNN knows attention (its documentation, Graph Patterns: fused flash
// attention). What stands in no memory is never there as a whole.
#include "backend/cuda/attention/cudnn/describe.h"

namespace meshwork::cuda::attention {
namespace {

using Handle = cudnn::Graph::Handle;
using Dims = std::vector<std::int64_t>;

/// Row by row.
Dims strides_of(const Dims& dims) {
  return {dims[1] * dims[2] * dims[3], dims[2] * dims[3], dims[3], 1};
}

class Description {
 public:
  explicit Description(const Task& task) : task_(task), type_(cudnn::data_type_of(task.dtype)) {}

  std::vector<cudnn::Descriptor> forward(cudnnHandle_t handle, bool with_log_sum) {
    const Handle q = queries(kQ, task_.d), k = transposed_keys(kK, task_.d);
    const Handle scores = hidden(scaled(product(q, k)));
    const Handle most = row();
    graph_.reduce(CUDNN_REDUCE_TENSOR_MAX, scores, most);
    const Handle exponentials = matrix();
    graph_.pointwise(CUDNN_POINTWISE_EXP, {with(CUDNN_POINTWISE_SUB, scores, most)}, exponentials);
    const Handle sum = row();
    graph_.reduce(CUDNN_REDUCE_TENSOR_ADD, exponentials, sum);
    const Handle log = row();
    graph_.pointwise(CUDNN_POINTWISE_LOG, {sum}, log);
    // The pattern has it even where nobody reads it.
    graph_.pointwise(CUDNN_POINTWISE_ADD, {log, most}, with_log_sum ? log_sums() : row());
    const Handle weights = matrix(type_);
    graph_.pointwise(CUDNN_POINTWISE_DIV, {exponentials, sum}, weights);
    graph_.product(weights, keys(kV, task_.e), queries(kY, task_.e));
    return std::move(graph_).finish(handle);
  }

  std::vector<cudnn::Descriptor> gradients(cudnnHandle_t handle) {
    const Handle q = queries(kQ, task_.d), dy = queries(kDy, task_.e);
    const Handle k = transposed_keys(kK, task_.d);
    const Handle delta = delta_of(dy);
    const Handle scores = with(CUDNN_POINTWISE_SUB, scaled(product(q, k)), log_sums());
    const Handle weights = matrix();
    graph_.pointwise(CUDNN_POINTWISE_EXP, {hidden(scores)}, weights);
    graph_.product(transposed(weights), dy, keys(kDv, task_.e));
    const Handle to_weights = product(dy, transposed_keys(kV, task_.e));
    const Handle less = with(CUDNN_POINTWISE_SUB, to_weights, delta);
    const Handle to_scores = scaled(with(CUDNN_POINTWISE_MUL, less, weights));
    graph_.product(transposed(to_scores), q, keys(kDk, task_.d));
    const Handle plain_keys = graph_.tensor({.id = other(),
                                             .type = CUDNN_DATA_FLOAT,
                                             .dims = key_dims(task_.d),
                                             .strides = key_strides(task_.d),
                                             .place = cudnn::Place::kNowhere});
    graph_.reshape(k, plain_keys);
    graph_.product(to_scores, plain_keys, queries(kDq, task_.d));
    return std::move(graph_).finish(handle);
  }

 private:
  std::int64_t other() { return next_++; }

  /// [b, heads, t, features] of what is [b, t, heads, features] in memory.
  Handle queries(Id id, std::int64_t features) {
    const std::int64_t line = task_.heads * features;
    return graph_.tensor({.id = id,
                          .type = type_,
                          .dims = {task_.b, task_.heads, task_.t, features},
                          .strides = {task_.t * line, features, line, 1}});
  }

  Dims key_dims(std::int64_t features) const { return {task_.b, task_.groups, task_.s, features}; }
  Dims key_strides(std::int64_t features) const {
    const std::int64_t line = task_.groups * features;
    return {task_.s * line, features, line, 1};
  }
  Handle keys(Id id, std::int64_t features) {
    return graph_.tensor(
        {.id = id, .type = type_, .dims = key_dims(features), .strides = key_strides(features)});
  }
  /// [b, groups, features, s] of the same.
  Handle transposed_keys(Id id, std::int64_t features) {
    Dims dims = key_dims(features), strides = key_strides(features);
    std::swap(dims[2], dims[3]);
    std::swap(strides[2], strides[3]);
    return graph_.tensor({.id = id, .type = type_, .dims = dims, .strides = strides});
  }

  /// [b, heads, t, s], not in memory.
  Handle matrix(cudnnDataType_t type = CUDNN_DATA_FLOAT) {
    const Dims dims{task_.b, task_.heads, task_.t, task_.s};
    return graph_.tensor({.id = other(),
                          .type = type,
                          .dims = dims,
                          .strides = strides_of(dims),
                          .place = cudnn::Place::kNowhere});
  }
  /// A number for each query: [b, heads, t, 1], not in memory.
  Handle row() { return numbers(other(), cudnn::Place::kNowhere); }
  Handle log_sums() { return numbers(kLogSum, cudnn::Place::kMemory); }
  Handle numbers(std::int64_t id, cudnn::Place place) {
    const Dims dims{task_.b, task_.heads, task_.t, 1};
    return graph_.tensor({.id = id, .dims = dims, .strides = strides_of(dims), .place = place});
  }
  Handle by_value(Id id) {
    return graph_.tensor({.id = id,
                          .dims = {1, 1, 1, 1},
                          .strides = {1, 1, 1, 1},
                          .place = cudnn::Place::kByValue,
                          .alignment = sizeof(float)});
  }
  Handle scale() {
    if (scale_ == nullptr) scale_ = by_value(kScale);
    return scale_;
  }

  Handle with(cudnnPointwiseMode_t mode, Handle a, Handle b) {
    const Handle y = matrix();
    graph_.pointwise(mode, {a, b}, y);
    return y;
  }
  Handle scaled(Handle x) { return with(CUDNN_POINTWISE_MUL, x, scale()); }
  Handle product(Handle a, Handle b) {
    const Handle y = matrix();
    graph_.product(a, b, y);
    return y;
  }

  /// Scores, of keys behind a query -infinity.
  Handle hidden(Handle scores) {
    if (!task_.causal) return scores;
    const Handle row = matrix(CUDNN_DATA_INT32), column = matrix(CUDNN_DATA_INT32);
    graph_.index(2, scores, row);
    graph_.index(3, scores, column);
    const Handle is_seen = matrix(CUDNN_DATA_BOOLEAN), y = matrix();
    graph_.pointwise(CUDNN_POINTWISE_CMP_GE, {row, column}, is_seen);
    graph_.pointwise(CUDNN_POINTWISE_BINARY_SELECT, {scores, by_value(kHidden), is_seen}, y);
    return y;
  }

  /// The sums of dy y over features, times one: cuDNN's pattern has a factor there.
  Handle delta_of(Handle dy) {
    const Dims dims{task_.b, task_.heads, task_.t, task_.e};
    const Handle terms = graph_.tensor({.id = other(),
                                        .dims = dims,
                                        .strides = strides_of(dims),
                                        .place = cudnn::Place::kNowhere});
    graph_.pointwise(CUDNN_POINTWISE_MUL, {dy, queries(kY, task_.e)}, terms);
    const Handle sum = row(), delta = row();
    graph_.reduce(CUDNN_REDUCE_TENSOR_ADD, terms, sum);
    graph_.pointwise(CUDNN_POINTWISE_MUL, {sum, by_value(kOne)}, delta);
    return delta;
  }

  /// [b, heads, s, t] of [b, heads, t, s], rounded for a product.
  Handle transposed(Handle x) {
    const Handle y =
        graph_.tensor({.id = other(),
                       .type = type_,
                       .dims = {task_.b, task_.heads, task_.s, task_.t},
                       .strides = {task_.heads * task_.t * task_.s, task_.t * task_.s, 1, task_.s},
                       .place = cudnn::Place::kNowhere});
    graph_.reshape(x, y);
    return y;
  }

  const Task& task_;
  cudnnDataType_t type_;
  cudnn::Graph graph_;
  std::int64_t next_ = kFirstOfOthers;
  Handle scale_ = nullptr;
};

}  // namespace

std::vector<cudnn::Descriptor> describe_forward(cudnnHandle_t handle, const Task& task,
                                                bool with_log_sum) {
  return Description(task).forward(handle, with_log_sum);
}

std::vector<cudnn::Descriptor> describe_gradients(cudnnHandle_t handle, const Task& task) {
  return Description(task).gradients(handle);
}

}  // namespace meshwork::cuda::attention
