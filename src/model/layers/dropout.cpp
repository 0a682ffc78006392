// y = x / (1 - rate) with probability 1 - rate, else 0; in training only
#include "base/rng.h"
#include "model/arguments.h"
#include "model/layers/layer.h"
#include "ops/ops.h"

namespace meshwork::layers {
namespace {

/// The shape of the mask: `noise_shape`, in which null stands for the extent of the input.
Shape read_noise_shape(const config::Value* noise, const Shape& input) {
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

ValueId build(Scope& scope, config::Reader& args, std::span<const ValueId> inputs) {
  GraphBuilder& b = scope.builder();
  const ValueId x = inputs[0];
  args.require("rate");
  const double rate = read_within(args, "rate", 0.0, 0.0, 1.0);
  const auto own_seed = args.get_integer("seed");
  const Shape shape = read_noise_shape(args.find("noise_shape"), b.shape(x));
  if (!scope.training() || rate == 0) return x;
  if (rate == 1) return ops::scale(b, x, 0.0);
  const std::uint64_t seed = own_seed ? static_cast<std::uint64_t>(*own_seed) : scope.seed();
  const auto key = static_cast<std::int64_t>(random_key(seed, b.path()));
  const ValueId u = b.add(ops::kRandomUniform, {scope.iteration()},
                          {{"key", key}, {"low", 0.0}, {"high", 1.0}, {"shape", shape}});
  const ValueId keep = b.add(ops::kGreaterEqual, {u, ops::constant(b, rate)});
  return ops::multiply(b, x, ops::scale(b, keep, 1 / (1 - rate)));
}

}  // namespace

const LayerDef kDropout{.names = {"Dropout"}, .build = build};

}  // namespace meshwork::layers
