#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "config/config.h"
#include "model/scope.h"

namespace meshwork {

/// One layer class, in the list of registry.cpp. `build` reads its arguments, under the builder's
/// path makes its variables, and gives its output. Keras's argument names and defaults.
struct LayerDef {
  std::vector<std::string_view> names;
  ValueId (*build)(Scope& scope, config::Reader& args, std::span<const ValueId> inputs);
  std::size_t min_inputs = 1;
  std::size_t max_inputs = 1;
};

constexpr std::size_t kAnyNumber = ~std::size_t{0};

const std::vector<const LayerDef*>& layer_registry();

namespace layers {
extern const LayerDef kActivation;
extern const LayerDef kAdd;
extern const LayerDef kAverage;
extern const LayerDef kConcatenate;
extern const LayerDef kDense;
extern const LayerDef kDropout;
extern const LayerDef kElu;
extern const LayerDef kFlatten;
extern const LayerDef kIdentity;
extern const LayerDef kLeakyRelu;
extern const LayerDef kMaximum;
extern const LayerDef kMinimum;
extern const LayerDef kMultiply;
extern const LayerDef kRelu;
extern const LayerDef kRescaling;
extern const LayerDef kReshape;
extern const LayerDef kSoftmax;
extern const LayerDef kSubtract;
}  // namespace layers

}  // namespace meshwork
