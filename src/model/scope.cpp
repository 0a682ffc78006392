#include "model/scope.h"

#include "base/error.h"
#include "model/arguments.h"
#include "ops/ops.h"

namespace meshwork {

ValueId Scope::variable(const std::string& name, const Shape& shape,
                        const Initializer& initializer) {
  const std::string path = builder_.path() + "/" + name;
  if (checked_elements(shape) < 0) {
    fail("{}: a variable of shape {} is too large", path, to_string(shape));
  }
  InitialValue initial = initializer({.shape = shape, .seed = seed_, .path = path});
  const ValueId value =
      builder_.add(ops::kVariable, {}, {{"path", path}, {"dtype", "float32"}, {"shape", shape}});
  builder_.graph().variables.push_back({.value = value,
                                        .path = path,
                                        .trainable = trainable_,
                                        .slot_of = {},
                                        .init = initial.op,
                                        .init_attrs = std::move(initial.attrs)});
  return value;
}

ValueId Scope::iteration() { return ops::input(builder_, "iteration", {DType::kInt64, {}}); }

}  // namespace meshwork
