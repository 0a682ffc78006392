// Attention by cuDNN, whatever its size, against the naive one; what it takes, and what not.
#include <doctest/doctest.h>

#include <array>
#include <utility>

#include "backend/cuda/attention/cudnn/by_cudnn.h"
#include "cuda/attention_use.h"
#include "cuda/case_runs.h"
#include "ops/ops.h"
#include "support/environment_variable.h"
#include "support/shared_case.h"
#include "support/training.h"

using namespace meshwork;
using namespace meshwork::testing;
using cuda::attention::Request;

namespace {

using List = std::vector<const OpDef*>;

constexpr double kScale = 0.3;

const List kForward{&ops::kAttention, &ops::kAttentionLogSum};
const List kGradients{&ops::kAttentionQueryGradient, &ops::kAttentionKeyGradient,
                      &ops::kAttentionValueGradient};

/// What a plan asks about ops of the same operands.
Request request_of(const Attention& x, const List& ops) {
  Request request{.inputs = {}, .asked = {}, .outputs = {}, .attrs = x.attrs};
  for (const Part& part : x.operands(*ops.front())) {
    request.inputs.push_back({part.tensor.type, part.region, nullptr});
  }
  const bool is_forward = ops.front() == &ops::kAttention;
  request.asked.assign(is_forward ? 2 : 3, false);
  for (std::size_t i = 0; i < ops.size(); ++i) request.asked[i] = true;
  return request;
}

/// Of so many samples, or those of `x`.
bool are_taken(const Attention& x, const List& ops, std::int64_t samples = 0) {
  Request request = request_of(x, ops);
  for (TensorView& input : request.inputs) {
    if (samples > 0) input.type.shape[0] = samples;
  }
  return (ops.front() == &ops::kAttention
              ? cuda::attention::cudnn_forward_workspace(request)
              : cuda::attention::cudnn_gradients_workspace(request)) > 0;
}

bool is_enqueued(const Together& together, bool is_forward) {
  Request request{.inputs = together.group.inputs,
                  .asked = {},
                  .outputs = {},
                  .attrs = together.group.members.front().attrs,
                  .workspace = together.group.workspace,
                  .stream = &cuda::cuda_stream(*together.stream)};
  request.asked.assign(is_forward ? 2 : 3, false);
  request.outputs.resize(request.asked.size());
  for (std::size_t i = 0; i < together.group.members.size(); ++i) {
    request.asked[i] = true;
    request.outputs[i] = together.group.members[i].output.data;
  }
  const auto launch = is_forward ? cuda::attention::forward_by_cudnn(request)
                                 : cuda::attention::gradients_by_cudnn(request);
  if (launch) (*launch)();
  return launch.has_value();
}

/// CHECKs that cuDNN computes these ops as the naive kernels do, and the same bits each time.
void check_ops(const Attention& x, const List& ops, double tolerance) {
  const Attention wide = x.in_float32();
  Backend& backend = gpu_backend();
  CAPTURE(to_string(x.attrs));
  CAPTURE(to_string(x.q.tensor.type));
  CAPTURE(to_string(x.v.tensor.type));
  REQUIRE(are_taken(x, ops));
  const Together once(backend, x, ops), again(backend, x, ops);
  const bool is_forward = ops.front() == &ops::kAttention;
  if (!is_enqueued(once, is_forward)) {
    REQUIRE_MESSAGE(!has_emulated_cudnn(), "cuDNN does not take it");
    WARN_MESSAGE(false, "cuDNN does not take it");
    return;
  }
  backend.bind_fusion(again.group, *again.stream)();
  const auto results = once.results(backend);
  for (std::size_t i = 0; i < ops.size(); ++i) {
    CAPTURE(ops[i]->name);
    const HostTensor expected =
        in_dtype(wide.run(*make_reference_backend(), *ops[i]), results[i].type.dtype);
    CHECK(difference(results[i], expected, tolerance) == "");
    CHECK(results[i] == again.results(backend)[i]);
  }
}

void check_forward(const Sizes& sizes, const AttentionOptions& options) {
  for (const auto& [dtype, tolerance] :
       {std::pair(DType::kBFloat16, kRounded), std::pair(DType::kFloat16, kRoundedToFloat16)}) {
    Attention x(sizes, options, {}, dtype);
    check_ops(x, kForward, tolerance);
    check_ops(x, {&ops::kAttention}, tolerance);
    x.turn_log_sum();
    check_ops(x, kForward, tolerance);
  }
}

void check_gradients(const Sizes& sizes, const AttentionOptions& options) {
  for (const auto& [dtype, tolerance] :
       {std::pair(DType::kBFloat16, kRounded), std::pair(DType::kFloat16, kRoundedToFloat16)}) {
    Attention x(sizes, options, {}, dtype);
    x.know_result();
    check_ops(x, kGradients, tolerance);
    x.turn_log_sum();
    check_ops(x, kGradients, tolerance);
  }
}

/// Of queries from `first` on.
Attention queries_from(Attention x, std::int64_t first) {
  const std::int64_t rest = x.q.tensor.type.shape[1] - first;
  for (Part* const part : {&x.q, &x.dy, &x.log_sum, &x.delta}) {
    *part = part_of(part->tensor, 1, first, rest);
  }
  return x;
}

Attention keys_up_to(Attention x, std::int64_t end) {
  for (Part* const part : {&x.k, &x.v}) *part = part_of(part->tensor, 1, 0, end);
  x.know_log_sum();
  return x;
}

}  // namespace

TEST_CASE("attention by cuDNN is that of all weights") {
  const EnvironmentVariable choice("MESHWORK_CUDNN", "always");
  check_forward({2, 70, 3, 1, 16, 70, 16}, {.scale = kScale, .causal = true});
  check_forward({1, 33, 2, 1, 24, 150, 8}, {.scale = kScale});
  check_forward({2, 65, 1, 1, 128, 40, 64}, {.scale = 0.1, .causal = true});
  check_forward({2, 20, 2, 3, 8, 90, 8}, {.scale = kScale});  // heads that share their keys
  check_forward({1, 1, 4, 1, 32, 9, 32}, {.scale = kScale});
}

TEST_CASE("gradients of attention by cuDNN are those of all weights") {
  const EnvironmentVariable choice("MESHWORK_CUDNN", "always");
  check_gradients({2, 70, 3, 1, 16, 70, 16}, {.scale = kScale, .causal = true});
  check_gradients({1, 33, 2, 1, 24, 150, 8}, {.scale = kScale});
  check_gradients({2, 65, 1, 1, 128, 40, 64}, {.scale = 0.1, .causal = true});
}

TEST_CASE("queries of a sequence that is cut, behind all keys, are attended to by cuDNN") {
  const EnvironmentVariable choice("MESHWORK_CUDNN", "always");
  const Attention whole({1, 90, 2, 1, 16, 90, 16}, {.scale = kScale, .causal = true}, {},
                        DType::kBFloat16);
  check_ops(keys_up_to(queries_from(whole, 40), 40), kForward, kRounded);
  CHECK(!are_taken(queries_from(whole, 40), kForward));
  CHECK(!are_taken(keys_up_to(queries_from(whole, 40), 42), kForward));
}

TEST_CASE("our own kernels compute attention that cuDNN's do not") {
  const EnvironmentVariable choice("MESHWORK_CUDNN", "always");
  const auto taken = [](const Sizes& sizes, const AttentionOptions& options, const List& ops,
                        DType dtype = DType::kBFloat16, const Shape& mask = {}) {
    Attention x(sizes, options, mask, dtype);
    x.know_result();
    if (ops.front() == &ops::kAttention) {
      x.attrs.set("with_result", false);
    }
    return are_taken(x, ops);
  };
  const Sizes plain{2, 20, 2, 1, 16, 30, 16};
  for (const List& ops : {kForward, kGradients}) {
    CHECK(taken(plain, {.scale = kScale}, ops));
    CHECK(!taken(plain, {.scale = kScale}, ops, DType::kFloat32));
    CHECK(!taken(plain, {.scale = kScale}, ops, DType::kBFloat16, {1, 1, 1, 1, 30}));
    CHECK(!taken(plain, {.scale = kScale, .window = 5}, ops));
    CHECK(!taken(plain, {.scale = kScale, .rate = 0.1}, ops));
    CHECK(!taken(plain, {.scale = kScale, .shifted = true}, ops));
    CHECK(!taken(plain, {.scale = kScale, .segmented = true}, ops));
    CHECK(!taken({2, 20, 2, 1, 12, 30, 16}, {.scale = kScale}, ops));
    CHECK(!taken({2, 20, 2, 1, 16, 30, 136}, {.scale = kScale}, ops));
    CHECK(!taken({2, 20, 0, 1, 16, 30, 16}, {.scale = kScale}, ops));
  }
  CHECK(!taken(plain, {.scale = kScale}, {kGradients[0], kGradients[1]}));
  CHECK(!taken({1, 20, 2, 2, 16, 30, 16}, {.scale = kScale}, kGradients));
  // The gradients of all weights would be 40 times as large as the queries.
  CHECK(!taken({1, 1, 1, 1, 8, 320, 8}, {.scale = kScale}, kGradients));
  // 2^31 elements are too many, of keys or of the gradients of all weights.
  Attention large(plain, {.scale = kScale}, {}, DType::kBFloat16);
  constexpr std::int64_t kMost = (std::int64_t{1} << 31) - 2;
  CHECK(are_taken(large, kForward, kMost / (2 * 30 * 16)));
  CHECK(!are_taken(large, kForward, kMost / (2 * 30 * 16) + 1));
  large.know_result();
  CHECK(are_taken(large, kGradients, kMost / (2 * 64 * 128)));
  CHECK(!are_taken(large, kGradients, kMost / (2 * 64 * 128) + 1));
  const Attention without_result(plain, {.scale = kScale}, {}, DType::kBFloat16);
  CHECK(!are_taken(without_result, kGradients));
}

TEST_CASE("attention goes to cuDNN where that pays") {
  const auto sized = [](std::int64_t steps) {
    return Attention({1, steps, 4, 1, 64, steps, 64}, {.scale = kScale, .causal = true}, {},
                     DType::kBFloat16);
  };
  CHECK(are_taken(sized(1024), kForward));
  CHECK(!are_taken(sized(128), kForward));
  const EnvironmentVariable choice("MESHWORK_CUDNN", "never");
  CHECK(!are_taken(sized(1024), kForward));
}

TEST_CASE("a transformer trains on meshes of GPUs with cuDNN's attention as on the CPU") {
  const std::string text = R"(
precision: mixed_bfloat16
mesh: {data: 1}
LAYOUTS
dataset:
  name: t
  format: synthetic
  splits: {train: {x: {normal: [16, 12, 16]}, y: {integers: [16], below: 5}}}
model:
  inputs: {x: {shape: [12, 16]}}
  layers:
    - MultiHeadAttention: {name: a, inputs: [x, x, x], num_heads: 2, key_dim: 8, use_causal_mask: true}
    - Flatten:
    - Dense: {name: e, units: 5}
compile: {optimizer: {SGD: {learning_rate: 0.05}}, loss: {SparseCategoricalCrossentropy: {from_logits: true}}}
fit: {batch_size: 8}
)";
  const EnvironmentVariable choice("MESHWORK_CUDNN", "always");
  const std::array<std::pair<const char*, const char*>, 3> layouts{
      std::pair{"", ""}, std::pair{"", "data=2"},
      std::pair{"layout_map: {'a/.*/kernel': [null, model, null]}", "data=2,model=2"}};
  for (const auto& layout : layouts) {
    const std::string mesh = layout.second;
    CAPTURE(mesh);
    std::string config = text;
    config.replace(config.find("LAYOUTS"), 7, layout.first);
    const Trajectory cpu = train(config, {.mesh = mesh, .steps = 4});
    const auto on_gpu = [&] { return train("device: cuda" + config, {.mesh = mesh, .steps = 4}); };
    const Trajectory gpu = on_gpu();
    CHECK(loss_difference(gpu, cpu) < 0.01);
    CHECK(on_gpu().digest == gpu.digest);
    const EnvironmentVariable other("MESHWORK_CUDNN", "never");
    if (has_emulated_cudnn()) CHECK(on_gpu().digest != gpu.digest);
  }
}
