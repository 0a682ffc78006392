// w ~ N(mean, stddev^2), drawn again beyond two standard deviations
#include "model/initializers/initializer.h"
#include "ops/ops.h"

namespace meshwork::initializers {
namespace {

Initializer read(config::Reader& args) {
  const double mean = args.get("mean", 0.0);
  const double stddev = args.get("stddev", 0.05);
  const auto seed = args.get_integer("seed");
  if (stddev < 0) fail_at(args.at(), "{}: stddev is {}; give 0 or more", args.what(), stddev);
  return [=](const InitRequest& request) {
    return InitialValue{&ops::kTruncatedNormal,
                        {{"key", initial_key(request, seed)},
                         {"mean", mean},
                         {"stddev", stddev},
                         {"shape", request.shape}}};
  };
}

}  // namespace

const InitializerDef kTruncatedNormal{
    .names = {"TruncatedNormal", "truncated_normal"},
    .read = read,
};

}  // namespace meshwork::initializers
