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
  WeightUpdate(GraphBuilder& builder, std::string optimizer, ValueId variable, ValueId gradient,
               StepNumbers numbers, std::int64_t steps_per_update = 1);

  GraphBuilder& builder() { return b_; }
  ValueId gradient() const { return gradient_; }
  void set_gradient(ValueId gradient) { gradient_ = gradient; }

  /// The weight, or what weight decay has left of it.
  ValueId weight() const { return weight_; }
  void set_weight(ValueId weight) { weight_ = weight; }
  const std::string& path() const { return path_; }
  const Shape& shape() const { return type_.shape; }
  /// What the weight is before the step.
  ValueId variable() const { return variable_; }

  ValueId learning_rate() { return numbers_.learning_rate(); }
  /// Number of this step from 0, as float32.
  ValueId iteration() { return numbers_.iteration(); }
  /// Number of this update from 1, as float32.
  ValueId step();

  /// What the slot holds before the step; made, full of `initial`, when it is asked for.
  ValueId slot(const std::string& name, double initial = 0);
  /// The same of a slot, full of 0, that takes nothing but sums over the batch: devices may each
  /// keep what they have of it.
  ValueId slot_of_sums(const std::string& name);
  /// The same of a slot, full of 0, that has some of the weight's dimensions alone, by their
  /// numbers, in order.
  ValueId slot_of_dims(const std::string& name, const std::vector<std::int64_t>& dims);
  void update_slot(ValueId slot, ValueId value);
  /// The same of a float32 scalar that the optimizer keeps for all weights together. All of them
  /// ask for it, and update it to the same value.
  ValueId scalar(const std::string& name, double initial);
  void update_scalar(ValueId scalar, ValueId value);
  /// Whether the model has written an update of the weight, which add_optimizer() takes for a
  /// constraint on its new values.
  bool is_constrained() const { return constraint_ != kNoValue; }
  /// Ends the update: the weight takes `value`, or what its constraint makes of that.
  void finish(ValueId value);

 private:
  ValueId add_slot(const Attrs& attrs, double initial);

  GraphBuilder& b_;
  std::string optimizer_;
  std::string path_;
  TensorType type_;
  ValueId variable_;
  ValueId weight_;
  ValueId gradient_;
  ValueId constraint_ = kNoValue;  ///< what it makes of the weight before the step
  StepNumbers numbers_;
  std::int64_t steps_per_update_;
};

/// "adam/d1_kernel_momentum": where the slot `name` of the weight `path` is kept.
std::string slot_path(const std::string& optimizer, const std::string& path,
                      const std::string& name);

/// A scalar of the optimizer `owner`, kept at `path` as a variable that starts from `initial`; made
/// when it is first asked for.
ValueId kept_scalar(GraphBuilder& b, const std::string& owner, const std::string& path, DType dtype,
                    double initial);

/// x' = old + (x - old)(1 - beta), which the slot takes.
ValueId moving_average(WeightUpdate& u, ValueId slot, ValueId x, double beta);

/// x' = rho old + (1 - rho) x, which the slot takes.
ValueId decayed_average(WeightUpdate& u, ValueId slot, ValueId x, double rho);

/// 1 - beta^t with the number of this update, from 1.
ValueId one_minus_power(WeightUpdate& u, double beta);

/// The sum of the squares of all elements, and its square root.
ValueId sum_of_squares(GraphBuilder& b, ValueId x);
ValueId norm(GraphBuilder& b, ValueId x);

/// Reads the name of an optimizer, the first part of the paths of what it keeps.
std::string read_optimizer_name(config::Reader& args, std::string_view fallback);

/// What an optimizer does with a weight that is clipped and decayed.
struct UpdateRule {
  /// Gives the new value of the weight, and updates its slots.
  std::function<ValueId(WeightUpdate&)> apply;
  /// Its weight decay, where that is not always the common argument.
  std::function<std::optional<double>(const WeightUpdate&, std::optional<double> common)>
      weight_decay = nullptr;
};

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
  std::vector<std::string_view> scalars = {};  ///< behind them, of no weight
  /// Of the slots those in whose place Keras's files have a number where a weight has none.
  std::vector<std::string_view> placeholders = {};
};

namespace optimizers {
extern const OptimizerDef kAdadelta;
extern const OptimizerDef kAdafactor;
extern const OptimizerDef kAdagrad;
extern const OptimizerDef kAdam;
extern const OptimizerDef kAdamax;
extern const OptimizerDef kAdamW;
extern const OptimizerDef kFtrl;
extern const OptimizerDef kLamb;
extern const OptimizerDef kLion;
extern const OptimizerDef kMuon;
extern const OptimizerDef kNadam;
extern const OptimizerDef kRmsProp;
extern const OptimizerDef kScheduleFreeAdamW;
extern const OptimizerDef kSgd;
}  // namespace optimizers

}  // namespace meshwork
