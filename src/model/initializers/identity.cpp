// w[i, j] = gain where i = j, else 0
#include "base/error.h"
#include "model/initializers/initializer.h"
#include "ops/ops.h"

namespace meshwork::initializers {
namespace {

Initializer read(config::Reader& args) {
  const double gain = args.get("gain", 1.0);
  return [gain, at = args.at()](const InitRequest& request) {
    if (request.shape.size() != 2) {
      fail_at(at, "initializer Identity is for matrices, not for '{}' of shape {}", request.path,
              to_string(request.shape));
    }
    return InitialValue{&ops::kIdentityMatrix, {{"gain", gain}, {"shape", request.shape}}};
  };
}

}  // namespace

const InitializerDef kIdentity{
    .names = {"Identity", "identity", "IdentityInitializer"},
    .read = read,
};

}  // namespace meshwork::initializers
