#pragma once

#include <string>
#include <string_view>

#include "model/layers/part.h"

namespace meshwork::layers {

/// The layer that a wrapper is around: `layer: {LSTM: {units: 3}}`.
struct Inner {
  config::ClassSpec spec;
  const LayerDef* def = nullptr;
  std::string name;  ///< its own, or the one that it has been given: "lstm_1"
};

/// Of the arguments of a wrapper, those of the layer `key`, which must be there.
Inner read_inner(const config::Value& arguments, std::string_view key);
Inner read_inner(config::Reader& args, std::string_view key);

/// Builds the layer as the part `name` of its wrapper, by `build`: that of its page, or another.
ValueId build_inner(Scope& scope, const config::Reader& around, const Inner& inner,
                    std::string_view name, std::span<const Masked> inputs, const BuildLayer& build);

}  // namespace meshwork::layers
