// w = gain * Q of a random normal matrix whose rows are all dimensions but the last
#include "base/error.h"
#include "model/initializers/initializer.h"
#include "ops/ops.h"

namespace meshwork::initializers {
namespace {

Initializer read(config::Reader& args) {
  const double gain = args.get("gain", 1.0);
  const auto seed = args.get_integer("seed");
  return [gain, seed, at = args.at()](const InitRequest& request) {
    if (request.shape.size() < 2) {
      fail_at(at, "initializer Orthogonal needs two dimensions or more, not '{}' of shape {}",
              request.path, to_string(request.shape));
    }
    return InitialValue{
        &ops::kOrthogonal,
        {{"key", initial_key(request, seed)}, {"gain", gain}, {"shape", request.shape}}};
  };
}

}  // namespace

const InitializerDef kOrthogonal{
    .names = {"Orthogonal", "orthogonal", "OrthogonalInitializer"},
    .read = read,
};

}  // namespace meshwork::initializers
