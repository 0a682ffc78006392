// w = value, 0 or 1
#include "model/initializers/initializer.h"
#include "ops/ops.h"

namespace meshwork::initializers {
namespace {

Initializer constant(double value) {
  return [value](const InitRequest& request) {
    return InitialValue{&ops::kConstant,
                        ops::constant_attrs(value, {DType::kFloat32, request.shape})};
  };
}

}  // namespace

const InitializerDef kConstant{
    .names = {"Constant", "constant"},
    .read = [](config::Reader& args) { return constant(args.get("value", 0.0)); },
};

const InitializerDef kOnes{
    .names = {"Ones", "ones", "one"},
    .read = [](config::Reader&) { return constant(1.0); },
};

const InitializerDef kZeros{
    .names = {"Zeros", "zeros", "zero"},
    .read = [](config::Reader&) { return constant(0.0); },
};

}  // namespace meshwork::initializers
