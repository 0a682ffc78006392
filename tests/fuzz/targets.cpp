#include "fuzz/targets.h"

#include <array>

namespace meshwork::fuzz {

std::span<const NamedTarget> targets() {
  static constexpr std::array kTargets{
      NamedTarget{"yaml", yaml},
      NamedTarget{"config", config},
      NamedTarget{"override_key", override_key},
      NamedTarget{"expression", expression},
      NamedTarget{"pattern", pattern},
      NamedTarget{"idx", idx},
      NamedTarget{"npy", npy},
      NamedTarget{"npz", npz},
      NamedTarget{"hdf5", hdf5},
      NamedTarget{"csv", csv},
      NamedTarget{"text", text},
      NamedTarget{"json_lines", json_lines},
      NamedTarget{"tokens", tokens},
      NamedTarget{"vocabulary", vocabulary},
      NamedTarget{"tokenizer", tokenizer},
      NamedTarget{"image", image},
      NamedTarget{"safetensors", safetensors},
      NamedTarget{"weights", weights},
      NamedTarget{"safetensors_index", safetensors_index},
      NamedTarget{"weights_map", weights_map},
      NamedTarget{"weights_sizes", weights_sizes},
      NamedTarget{"checkpoint_index", checkpoint_index},
  };
  return kTargets;
}

}  // namespace meshwork::fuzz
