#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "optim/leaf_pattern.h"
#include "optim/rule.h"

namespace meshwork {

/// The arguments that all optimizers share.
struct CommonArguments {
  std::string name;  ///< first part of the paths of slots
  std::optional<double> weight_decay;
  LeafPatterns no_decay;  ///< weights that weight decay leaves alone
  std::optional<double> clipnorm;
  std::optional<double> clipvalue;
  std::optional<double> global_clipnorm;
  std::int64_t steps_per_update = 1;  ///< gradient_accumulation_steps
  /// What they add up is reduced by the last of them. Not within a LossScaleOptimizer, which adds
  /// up the gradients of a step only where all are finite, as Keras does: that is said of the whole
  /// batch. Parts of it may pass what float16 holds where their sum does not, or their sum alone.
  bool reduces_late = true;
  std::optional<double> loss_scale_factor;     ///< of the loss; gradients are divided by it
  std::optional<double> ema_momentum;          ///< none: no average of the weights is kept
  std::optional<std::int64_t> ema_overwrites;  ///< ema_overwrite_frequency
};

CommonArguments read_common(config::Reader& args, const OptimizerDef& def);

/// Clips gradients, each by itself or all by their common norm, and decays weights.
void prepare(std::span<WeightUpdate> updates, const CommonArguments& common,
             const UpdateRule& rule);

}  // namespace meshwork
