#include "model/layers/noise.h"

#include "ops/ops.h"

namespace meshwork::layers {

std::int64_t read_stream(Scope& scope, config::Reader& args) {
  return scope.random_key(args.get_integer("seed"));
}

ValueId draw_uniform(Scope& scope, std::int64_t stream, const Shape& shape) {
  return scope.builder().add(ops::kRandomUniform, {scope.iteration()},
                             {{"key", stream}, {"low", 0.0}, {"high", 1.0}, {"shape", shape}});
}

ValueId draw_normal(Scope& scope, std::int64_t stream, const Shape& shape, double mean,
                    double stddev) {
  return scope.builder().add(
      ops::kRandomNormal, {scope.iteration()},
      {{"key", stream}, {"mean", mean}, {"stddev", stddev}, {"shape", shape}});
}

Shape read_noise_shape(config::Reader& args, const Shape& input) {
  const config::Value* noise = args.find("noise_shape");
  if (noise == nullptr) return input;
  if (!noise->is_list() || noise->list.size() != input.size()) {
    fail_at(noise->at,
            "noise_shape must be a list of {} entries, one per dimension with the batch first, "
            "such as {}",
            input.size(), to_string(input));
  }
  Shape shape = input;
  for (std::size_t d = 0; d < input.size(); ++d) {
    const config::Value& entry = noise->list[d];
    if (entry.is_null()) continue;
    shape[d] = entry.as_integer("noise_shape");
    if (shape[d] != 1 && shape[d] != input[d]) {
      fail_at(entry.at, "noise_shape is {} in dimension {}, where the input is {}; give null or 1",
              shape[d], d, input[d]);
    }
  }
  return shape;
}

ValueId draw_factors(Scope& scope, double rate, std::int64_t stream, const Shape& mask,
                     DType dtype) {
  GraphBuilder& b = scope.builder();
  if (!scope.training() || rate == 0) return kNoValue;
  const ValueId u = draw_uniform(scope, stream, mask);
  const ValueId keep = ops::greater_equal(b, u, ops::constant(b, rate));
  return ops::cast(b, ops::scale(b, keep, 1 / (1 - rate)), dtype);
}

ValueId drop(Scope& scope, ValueId x, double rate, std::int64_t stream, const Shape& mask) {
  GraphBuilder& b = scope.builder();
  if (rate == 1 && scope.training()) return ops::scale(b, x, 0.0);
  const ValueId factors = draw_factors(scope, rate, stream, mask, b.type(x).dtype);
  return factors == kNoValue ? x : ops::multiply(b, x, factors);
}

}  // namespace meshwork::layers
