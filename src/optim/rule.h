#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/config.h"
#include "optim/optimizer.h"

namespace meshwork {

/// The numbers of a step, float32 scalars that are appended when they are asked for.
struct StepNumbers {
  std::function<ValueId()> learning_rate;
  std::function<ValueId()> iteration;  ///< from 0
};

/// One weight while its update is being written. Scalars that several weights ask for are computed
/// once, as the builder shares equal nodes in the update phase.
class WeightUpdate {
 public:
  /// `optimizer`: its name, the first part of the paths of slots. `steps_per_update`: of so many
  /// steps one is an update, the last.
  WeightUpdate(GraphBuilder& builder, std::string optimizer, std::size_t variable, ValueId gradient,
               StepNumbers numbers, std::int64_t steps_per_update = 1);

  GraphBuilder& builder() { return b_; }
  ValueId gradient() const { return gradient_; }
  void set_gradient(ValueId gradient) { gradient_ = gradient; }

  /// The weight, or what weight decay has left of it.
  ValueId weight() const { return weight_; }
  void set_weight(ValueId weight) { weight_ = weight; }
  const std::string& path() const { return path_; }
  /// What the weight is before the step.
  ValueId variable() const { return variable_; }

  ValueId learning_rate() { return numbers_.learning_rate(); }
  /// Number of this step from 0, as float32.
  ValueId iteration() { return numbers_.iteration(); }
  /// Number of this update from 1, as float32.
  ValueId step();

  /// What the slot holds before the step; made, with zeros, when it is asked for.
  ValueId slot(const std::string& name);
  void update_slot(ValueId slot, ValueId value);
  /// Ends the update: the weight takes `value`.
  void finish(ValueId value);

 private:
  GraphBuilder& b_;
  std::string optimizer_;
  std::string path_;
  TensorType type_;
  ValueId variable_;
  ValueId weight_;
  ValueId gradient_;
  StepNumbers numbers_;
  std::int64_t steps_per_update_;
};

/// "adam/d1_kernel_momentum": where the slot `name` of the weight `path` is kept.
std::string slot_path(const std::string& optimizer, const std::string& path,
                      const std::string& name);

/// Reads the name of an optimizer, the first part of the paths of what it keeps.
std::string read_optimizer_name(config::Reader& args, std::string_view fallback);

/// Gives the new value of a weight, and of its slots.
using UpdateRule = std::function<ValueId(WeightUpdate&)>;

/// One optimizer, in the list of optimizer.cpp.
struct OptimizerDef {
  std::vector<std::string_view> names;  ///< the class first; compared without regard to case
  std::string_view path;                ///< Keras's automatic name: "rm_sprop"
  double learning_rate;
  std::optional<double> weight_decay;
  UpdateRule (*read)(config::Reader& args);
  /// Names of all slots that it may have, in Keras's order: of each list those of a weight stand
  /// side by side, and a list follows the other.
  std::vector<std::vector<std::string_view>> slots;
};

namespace optimizers {
extern const OptimizerDef kAdam;
extern const OptimizerDef kAdamW;
extern const OptimizerDef kRmsProp;
extern const OptimizerDef kSgd;
}  // namespace optimizers

}  // namespace meshwork
