#pragma once

#include <string>

#include "model/layers/layer.h"

namespace meshwork::layers {

/// Low-rank adaptation: a weight that stays as it is, and trained factors beside it.
struct Lora {
  std::int64_t rank = 0;  ///< 0: none
  double scale = 1;       ///< lora_alpha / lora_rank
};

/// The arguments `lora_rank` and `lora_alpha`.
Lora read_lora(config::Reader& args);

/// The variable `name`, not trained where it is adapted.
ValueId add_base(Scope& scope, const Lora& lora, const std::string& name, const Shape& shape,
                 const Initializer& initializer);

/// base + scale a b: a, `lora_<name>_a`, has the shape of the base but `rank` as its last extent; b
/// is `lora_<name>_b`, [rank, last extent]. Keras makes them behind all other variables of a layer.
ValueId adapt(Scope& scope, const Lora& lora, const std::string& name, ValueId base);

}  // namespace meshwork::layers
