// y = x / |x|, the length over `axis`; 0 stays 0
#include "model/arguments.h"
#include "model/layers/layer.h"
#include "model/unit_length.h"

namespace meshwork::layers {
namespace {

constexpr double kLeast = 1e-12;  // Keras divides by no less

ValueId build(Scope& scope, config::Reader& args, std::span<const ValueId> inputs) {
  GraphBuilder& b = scope.builder();
  const auto axes = read_sample_axes(args, b.shape(inputs[0]).size());
  return to_unit_length(b, inputs[0], axes, kLeast);
}

}  // namespace

const LayerDef kUnitNormalization{.names = {"UnitNormalization"},
                                  .build = build,
                                  .inside = Inside::kFloat32,
                                  .passes_mask = true};

}  // namespace meshwork::layers
