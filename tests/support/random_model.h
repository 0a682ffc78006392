#pragma once

#include <cstdint>
#include <string>

namespace meshwork::testing {

/// A small random configuration: layers, loss, optimizer, batch, and for one mesh the layout of
/// every kernel (none, row, column, both, both axes on one dimension), of biases, outputs and
/// optimizer state. The same seed gives the same text.
struct RandomModel {
  std::string text;     ///< without `mesh:`
  std::string mesh;     ///< as --mesh: "data=3,model=2"
  std::string layouts;  ///< `strategy:` and maps for this mesh, as text
};

RandomModel random_model(std::uint64_t seed);

/// A small convolutional network: convolutions and pools of any window, stride, padding, dilation
/// and groups, normalizations, a branch now and then; inputs, outputs and kernels are sharded along
/// batch, channels, filters and space.
RandomModel random_convnet(std::uint64_t seed);

/// A small transformer over tokens: attention of any heads, groups and masks, positions learned or
/// rotary, MLPs with gates or without, logits by the table or not, LoRA now and then; tables,
/// kernels and activations are sharded along tokens, heads, features, steps and the batch.
RandomModel random_transformer(std::uint64_t seed);

/// Recurrent layers over tokens, one way or both, of all steps or the last, some of them masked or
/// dropped; tables, kernels and outputs are sharded along tokens, features, gates and the batch.
RandomModel random_recurrent(std::uint64_t seed);

}  // namespace meshwork::testing
