#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "config/config.h"
#include "graph/builder.h"

namespace meshwork {

/// Appends the optimizer to a training program, in the update phase and under its own name as path.
/// `gradients`: of the loss by each variable, as in Graph::gradients; kNoValue: the loss does not
/// depend on the variable, and it stays as it is.
///
/// Makes the slots, variables such as `adam/d1_kernel_momentum` that start from 0, and the updates
/// of weights and slots: clip the gradients, decay the weights, then the optimizer's rule. An
/// update of a weight that the program has before is its constraint, a formula of the weight: the
/// new weight goes through it, behind all else, as in Keras. Inputs are the scalars "learning_rate"
/// (float32) and "iteration" (int64, 0 in the first step); a LossScaleOptimizer counts steps
/// itself, computes schedules of that number, and leaves all but the scale as it is in steps whose
/// gradients are not finite. Numbers are Keras's. Throws Error for arguments that Keras or Meshwork
/// do not have.
void add_optimizer(GraphBuilder& b, const config::ClassSpec& spec,
                   std::span<const Update> gradients);

/// The same for the steps between updates, where the optimizer accumulates gradients over several:
/// they add theirs to the sum, and leave the weights alone but for their average and constraint.
/// The slots that they share with the program above have the same places in graph.variables.
void add_accumulation(GraphBuilder& b, const config::ClassSpec& spec,
                      std::span<const Update> gradients);

/// What the loss is multiplied by before gradients are taken, a float32 scalar, by which
/// add_optimizer() divides them: the variable of a LossScaleOptimizer, new where the program has
/// none, or the constant loss_scale_factor; kNoValue: nothing.
ValueId loss_scale(GraphBuilder& b, const config::ClassSpec& spec);

/// Of how many steps one is an update, the last of them: gradient_accumulation_steps, or 1. Also 1
/// under a LossScaleOptimizer, whose program counts the steps: add_optimizer() then does either.
std::int64_t steps_per_update(const config::ClassSpec& spec);

/// gradient_accumulation_steps, or 1, also of the optimizer in a LossScaleOptimizer.
std::int64_t accumulated_steps(const config::ClassSpec& spec);

/// Whether the optimizer keeps an average of the weights (use_ema), and the updates that put it in
/// the place of the weights of a training program.
bool averages_weights(const config::ClassSpec& spec);
std::vector<Update> averages_in_place(const Graph& graph, const config::ClassSpec& spec);

/// What an optimizer keeps, as Keras orders it.
struct OptimizerState {
  std::string name;                ///< of the optimizer: "rm_sprop"
  std::string class_name;          ///< "RMSprop"
  std::vector<std::string> slots;  ///< paths of all that it may have, for weights in this order
  std::string scaled_by;           ///< the name of the LossScaleOptimizer around it; "": none
  /// Then: paths of the latter's step counter and scale, and of this one's number of steps.
  std::vector<std::string> counters;
  std::set<std::string> placeholders;  ///< of the slots: int32 scalars where it has them not
};
OptimizerState state_of(const config::ClassSpec& spec, const std::vector<std::string>& weights);

/// Notes on arguments that hit none of the weights: patterns of exclude_from_weight_decay. Keras
/// says nothing of such.
std::vector<std::string> notes_on(const config::ClassSpec& spec,
                                  const std::vector<std::string>& weights);

/// Checks name and arguments, without a program.
void check_optimizer(const config::ClassSpec& spec);

/// Learning rate of a step, counted from 0: a float32 number, computed in float32 as Keras does.
class Schedule {
 public:
  using OnHost = std::function<float(float step)>;
  using InProgram = std::function<ValueId(GraphBuilder& b, ValueId step)>;

  Schedule() = default;
  Schedule(OnHost on_host, InProgram in_program)
      : on_host_(std::move(on_host)), in_program_(std::move(in_program)) {}

  double operator()(std::int64_t step) const { return on_host_(static_cast<float>(step)); }
  /// Appends the same for a float32 scalar; the last bits may differ.
  ValueId append(GraphBuilder& b, ValueId step) const { return in_program_(b, step); }

 private:
  OnHost on_host_;
  InProgram in_program_;
};

/// The learning rate that the optimizer's arguments, or its defaults, say.
Schedule learning_rate_of(const config::ClassSpec& spec);

/// The schedule that the arguments name; none where the learning rate is a number.
std::optional<config::ClassSpec> schedule_of(const config::ClassSpec& spec);

}  // namespace meshwork
