#include "config/lookup.h"
#include "model/regularizers/regularizer.h"

namespace meshwork {

const std::vector<const RegularizerDef*>& regularizer_registry() {
  static const std::vector<const RegularizerDef*> registry = {
      &regularizers::kL1,
      &regularizers::kL1L2,
      &regularizers::kL2,
      &regularizers::kOrthogonal,
  };
  return registry;
}

Regularizer read_regularizer(const config::Value& spec) {
  return config::read_named(regularizer_registry(), config::read_class(spec, "regularizer"),
                            "regularizer");
}

}  // namespace meshwork
