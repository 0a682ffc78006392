// w = value, 0 or 1
#include "model/initializers/initializer.h"
#include "ops/ops.h"

namespace meshwork {

Initializer constant_initializer(double value) {
  return [value](const InitRequest& request) {
    return InitialValue{&ops::kConstant,
                        ops::constant_attrs(value, {DType::kFloat32, request.shape})};
  };
}

namespace initializers {

const InitializerDef kConstant{
    .names = {"Constant", "constant"},
    .read = [](config::Reader& args) { return constant_initializer(args.get("value", 0.0)); },
};

const InitializerDef kOnes{
    .names = {"Ones", "ones", "one"},
    .read = [](config::Reader&) { return constant_initializer(1.0); },
};

const InitializerDef kZeros{
    .names = {"Zeros", "zeros", "zero"},
    .read = [](config::Reader&) { return constant_initializer(0.0); },
};

}  // namespace initializers

}  // namespace meshwork
