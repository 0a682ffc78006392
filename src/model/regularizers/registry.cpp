#include "config/lookup.h"
#include "model/regularizers/regularizer.h"

namespace meshwork {

const std::vector<const RegularizerDef*>& regularizer_registry() {
  static const std::vector<const RegularizerDef*> registry = {
      &regularizers::kL1,
      &regularizers::kL1L2,
      &regularizers::kL2,
  };
  return registry;
}

Regularizer read_regularizer(const config::Value& spec) {
  const config::ClassSpec regularizer = config::read_class(spec, "regularizer");
  const RegularizerDef& def = config::look_up(regularizer_registry(), regularizer, "regularizer");
  config::Reader args(regularizer.args, fmt::format("regularizer {}", regularizer.name));
  Regularizer result = def.read(args);
  args.finish();
  return result;
}

}  // namespace meshwork
