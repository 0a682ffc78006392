#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "optim/rule.h"

namespace meshwork {

/// Keras's LossScaleOptimizer around another: the loss is multiplied by a scale before gradients
/// are taken. A step whose gradients are not all finite is left out and halves the scale; the scale
/// doubles after `growth_steps` finite steps in a row.
struct LossScaling {
  std::string name;               ///< first part of the paths of what it keeps
  double initial_scale = 0;       ///< of the loss
  std::int64_t growth_steps = 0;  ///< dynamic_growth_steps
  config::ClassSpec inner;        ///< the optimizer that it scales for
};

bool scales_losses(const config::ClassSpec& spec);
LossScaling read_loss_scaling(const config::ClassSpec& spec);

/// Paths of what it keeps, in Keras's order: the finite steps since the scale has changed (int32),
/// and the scale (float32).
std::vector<std::string> loss_scale_paths(const LossScaling& scaling);

/// Where an optimizer whose steps may be left out keeps the number of those that were not, int32.
std::string iteration_path(const std::string& optimizer);

/// The scale before the step; a new variable where the program has none.
ValueId scale_of_loss(GraphBuilder& b, const LossScaling& scaling);

/// The number of the steps before this one that were not left out, int32: a new variable.
ValueId counted_steps(GraphBuilder& b, const std::string& optimizer);

/// 1 where all elements of all gradients are finite, else 0, float32. What a layer of float16 gives
/// must be finite in float16, too, whether or not it is rounded on its way.
ValueId are_finite(GraphBuilder& b, std::span<const Update> gradients);

/// Lets what graph.updates has from `first` on change only where the scalar is 1.
void update_where(GraphBuilder& b, ValueId condition, std::size_t first);

/// Appends the updates of scale and counter, and of the steps that are counted, and the output
/// names::kStepTaken.
void update_scale(GraphBuilder& b, const LossScaling& scaling, ValueId finite, ValueId steps);

}  // namespace meshwork
