#include "model/layers/layer.h"

namespace meshwork {

const std::vector<const LayerDef*>& layer_registry() {
  static const std::vector<const LayerDef*> registry = {
      &layers::kActivation, &layers::kAdd,       &layers::kAverage,   &layers::kConcatenate,
      &layers::kDense,      &layers::kDropout,   &layers::kElu,       &layers::kFlatten,
      &layers::kIdentity,   &layers::kLeakyRelu, &layers::kMaximum,   &layers::kMinimum,
      &layers::kMultiply,   &layers::kRelu,      &layers::kRescaling, &layers::kReshape,
      &layers::kSoftmax,    &layers::kSubtract,
  };
  return registry;
}

}  // namespace meshwork
