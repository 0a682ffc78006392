#include "backend/cuda/attention/operands.h"

#include <algorithm>

#include "base/check.h"
#include "graph/attention_options.h"

namespace meshwork::cuda::attention {
namespace {

/// Distances beyond it are all the same: there are fewer queries and keys.
constexpr std::int64_t kFar = std::int64_t{1} << 30U;

std::int32_t as_int32(std::int64_t x) {
  MW_CHECK(x >= -kFar && x <= kFar, "{} in attention", x);
  return static_cast<std::int32_t>(x);
}

void add_mask(Operands& x, const TensorView& mask) {
  x.mask = mask.as<float>();
  const Shape& shape = mask.type.shape;
  std::int64_t step = shape[4];
  for (std::size_t d = 4; d-- > 0; step *= shape[d]) x.mask_steps[d] = shape[d] == 1 ? 0 : step;
}

void add_draws(Operands& x, const AttentionOptions& options, const TensorView& step,
               const Region& q, const Region& k) {
  x.step = step.as<std::int64_t>();
  x.draw_key = options.key;
  x.rate = static_cast<float>(options.rate);
  x.factor = static_cast<float>(1 / (1 - options.rate));
  x.draw_query = k.global[1];
  x.draw_member = x.draw_query * q.global[1];
  x.draw_group = x.draw_member * q.global[3];
  x.draw_sample = x.draw_group * q.global[2];
  x.draw_first = q.offset[0] * x.draw_sample + q.offset[2] * x.draw_group +
                 q.offset[3] * x.draw_member + q.offset[1] * x.draw_query + k.offset[1];
}

}  // namespace

Operands operands_of(const Request& request, std::size_t fixed) {
  const std::vector<TensorView>& inputs = request.inputs;
  const AttentionOptions options = attention_options(request.attrs);
  const AttentionExtras extras = attention_extras(fixed, inputs.size(), request.attrs);
  const Shape& q = inputs[0].type.shape;
  const Region& of_q = inputs[0].region;
  const Region& of_k = inputs[1].region;
  Operands x{};
  x.b = as_int32(q[0]);
  x.t = as_int32(q[1]);
  x.g = as_int32(q[2]);
  x.r = as_int32(q[3]);
  x.s = as_int32(inputs[1].type.shape[1]);
  x.d = as_int32(q[4]);
  x.e = as_int32(inputs[2].type.shape[3]);
  as_int32(q[1] * q[3]);
  x.by_r = divisor_of(x.r);
  x.scale = static_cast<float>(options.scale);
  x.is_causal = options.causal ? 1 : 0;
  x.window = static_cast<std::int32_t>(std::min(options.window, kFar));
  x.distance = as_int32(of_q.offset[1] - of_k.offset[1]);
  x.by_head = options.by_head ? 1 : 0;
  if (extras.mask) add_mask(x, inputs[*extras.mask]);
  if (extras.shift) x.shift = inputs[*extras.shift].as<std::int32_t>();
  if (extras.key_segments) {
    x.query_segments = inputs[*extras.query_segments].as<std::int32_t>();
    x.key_segments = inputs[*extras.key_segments].as<std::int32_t>();
  }
  if (extras.step) add_draws(x, options, inputs[*extras.step], of_q, of_k);
  return x;
}

}  // namespace meshwork::cuda::attention
