// w ~ N(mean, stddev^2); the truncated one is drawn again beyond two standard deviations
#include "model/initializers/initializer.h"
#include "ops/ops.h"

namespace meshwork::initializers {
namespace {

template <const OpDef& op>
Initializer read(config::Reader& args) {
  const double mean = args.get("mean", 0.0);
  const double stddev = args.get("stddev", 0.05, config::at_least(0));
  const auto seed = args.get_integer("seed");
  return [=](const InitRequest& request) {
    return InitialValue{&op,
                        {{"key", initial_key(request, seed)},
                         {"mean", mean},
                         {"stddev", stddev},
                         {"shape", request.shape}}};
  };
}

}  // namespace

const InitializerDef kRandomNormal{
    .names = {"RandomNormal", "random_normal", "normal"},
    .read = read<ops::kRandomNormal>,
};

const InitializerDef kTruncatedNormal{
    .names = {"TruncatedNormal", "truncated_normal"},
    .read = read<ops::kTruncatedNormal>,
};

}  // namespace meshwork::initializers
