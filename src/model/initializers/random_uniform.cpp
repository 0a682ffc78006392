// w ~ U[minval, maxval)
#include "model/initializers/initializer.h"
#include "ops/ops.h"

namespace meshwork::initializers {
namespace {

Initializer read(config::Reader& args) {
  const double low = args.get("minval", -0.05);
  const double high = args.get("maxval", 0.05);
  const auto seed = args.get_integer("seed");
  if (low > high) {
    fail_at(args.at(), "{}: minval is {} and maxval {}; exchange them", args.what(), low, high);
  }
  return [=](const InitRequest& request) {
    return InitialValue{&ops::kRandomUniform,
                        {{"key", initial_key(request, seed)},
                         {"low", low},
                         {"high", high},
                         {"shape", request.shape}}};
  };
}

}  // namespace

const InitializerDef kRandomUniform{
    .names = {"RandomUniform", "random_uniform", "uniform"},
    .read = read,
};

}  // namespace meshwork::initializers
