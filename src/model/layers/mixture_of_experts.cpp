// y[.., out] = sum over the experts e that a router chooses of p_e expert_e(x[.., in]), where
// expert(x) = (activation(x gate) * (x up)) down, as in Mixtral (Jiang et al. 2024; keras-hub 0.32,
// MixtralSparseMoeBlock and Qwen3SparseMoeBlock).
//
// Without a capacity each expert takes all positions that chose it, which is what keras-hub's come
// to. With one, in training, it takes at most so many of a sample (GShard, Lepikhin et al. 2020).
#include <algorithm>
#include <cmath>
#include <optional>

#include "model/activations/activation.h"
#include "model/arguments.h"
#include "model/layers/masks.h"
#include "model/layers/noise.h"
#include "ops/ops.h"

namespace meshwork::layers {
namespace {

struct Arguments {
  std::int64_t experts = 0, top_k = 0, units = 0;
  Activation activation;
  bool is_gated = true, normalizes = true;
  std::optional<double> capacity_factor;
  double balance = 0, jitter = 0;
  Initializer initializer;
};

Arguments read_arguments(config::Reader& args) {
  Arguments result;
  result.experts = args.require_integer("num_experts", config::at_least(1));
  result.top_k = args.get("top_k", std::int64_t{2}, config::at_least(1));
  result.units = args.require_integer("intermediate_dim", config::at_least(1));
  result.activation = read_activation(args, "activation", "silu");
  result.is_gated = args.get("use_gate", true);
  result.normalizes = args.get("norm_top_k_prob", true);
  result.capacity_factor = args.get_real("capacity_factor", config::more_than(0));
  result.balance = args.get("router_aux_loss_coefficient", 0.01, config::at_least(0));
  result.jitter = args.get("router_jitter_noise", 0.0, config::between(0, 1));
  result.initializer = read_initializer(args, "kernel_initializer", "glorot_uniform");
  if (result.top_k > result.experts) {
    fail_at(args.at(), "{}: top_k is {}, but there are only {} experts", args.what(), result.top_k,
            result.experts);
  }
  return result;
}

/// Of each position, [batch, steps, ..].
struct Routing {
  ValueId probabilities = kNoValue;   ///< float32 [.., experts]
  ValueId chosen = kNoValue;          ///< float32 [.., experts]: 1 for the experts that it goes to
  ValueId weights = kNoValue;         ///< float32 [.., experts]: of their results; else 0
  std::vector<ValueId> choices = {};  ///< int32 [batch, steps], the most probable expert first
};

class Experts {
 public:
  /// Of an input [batch, steps, features].
  Experts(Scope& scope, const Arguments& arguments, ValueId x)
      : scope_(scope), b_(scope.builder()), arguments_(arguments), width_(b_.shape(x)[2]) {}

  Routing route(ValueId x) {
    const PartScope part(scope_, "router", scope_.layer());
    const ValueId kernel =
        scope_.variable("kernel", {width_, arguments_.experts}, arguments_.initializer);
    const ValueId logits = b_.add(
        ops::kEinsum, {x, kernel},
        {{"equation", std::string("b t h, h e -> b t e")}, {"dtype", std::string("float32")}});
    Routing routing;
    routing.probabilities = b_.add(ops::kSoftmax, {logits}, {{"axis", std::int64_t{2}}});
    choose_experts(routing);
    routing.weights = ops::multiply(b_, routing.probabilities, routing.chosen);
    if (!arguments_.normalizes) return routing;
    const ValueId total = ops::reduce_sum(b_, routing.weights, {2}, true);
    routing.weights = ops::divide(b_, routing.weights, total);
    return routing;
  }

  /// Each expert for all positions that chose it.
  ValueId compute_all(const Routing& routing, ValueId x) {
    const ValueId chosen = scope_.cast(routing.chosen, dtype());
    const auto product = [&](ValueId left, ValueId right, const std::string& equation) {
      if (arguments_.top_k == arguments_.experts) return ops::einsum(b_, left, right, equation);
      return b_.add(
          ops::kSparseEinsum, {left, right, chosen},
          {{"equation", equation}, {"chosen", std::string("b t e")}, {"of_row", arguments_.top_k}});
    };
    const ValueId hidden =
        feed([&](ValueId kernel) { return product(x, kernel, "b t h, e h m -> b t e m"); });
    const ValueId weights = with_one(scope_.cast(routing.weights, dtype()));
    return product(ops::multiply(b_, hidden, weights), down(), "b t e m, e m h -> b t h");
  }

  /// Each expert for as many positions of a sample as it has slots, of those that `mask` counts.
  ValueId compute_slots(const Routing& routing, ValueId x, std::int64_t capacity, ValueId mask) {
    const Attrs attrs{{"experts", arguments_.experts}, {"capacity", capacity}};
    std::vector<ValueId> choices, weights;
    for (const ValueId choice : routing.choices) {
      choices.push_back(with_one(choice));
      weights.push_back(with_one(b_.add(ops::kTakeAlongAxis, {routing.weights, choice})));
    }
    const ValueId slots = b_.add(ops::kAssignSlots, {leave_out(mask, join(choices))}, attrs);
    const Shape shape = b_.shape(x);
    const ValueId rows = ops::reshape(b_, x, {shape[0], shape[1], 1, width_});
    const ValueId sent = b_.add(ops::kDispatch, {rows, slots}, attrs);
    const ValueId hidden = feed(
        [&](ValueId kernel) { return ops::einsum(b_, sent, kernel, "e b c h, e h m -> e b c m"); });
    const ValueId results = ops::einsum(b_, hidden, down(), "e b c m, e m h -> e b c h");
    return ops::einsum(b_, b_.add(ops::kCombine, {results, slots}),
                       scope_.cast(join(weights), dtype()), "b t k h, b t k -> b t h");
  }

  /// [] of float32: 1 where all experts are chosen alike, up to their number (Fedus et al. 2022,
  /// Switch Transformers, section 2.2, of all choices as in keras-hub).
  ValueId imbalance(const Routing& routing, ValueId mask) {
    const Shape shape = b_.shape(routing.chosen);
    ValueId counts = mask;
    ValueId positions = ops::constant(b_, static_cast<double>(shape[0] * shape[1]));
    if (mask != kNoValue) {
      const ValueId counted = ops::reduce_sum(b_, mask, {0, 1}, false);
      positions = ops::maximum(b_, counted, ops::constant(b_, 1.0));
      counts = spread_mask(b_, mask, routing.chosen);
    }
    const auto mean = [&](ValueId x) {
      if (counts != kNoValue) x = ops::multiply(b_, x, counts);
      return ops::divide(b_, ops::reduce_sum(b_, x, {0, 1}, false), positions);
    };
    const ValueId product = ops::multiply(b_, mean(routing.chosen), mean(routing.probabilities));
    const auto scale =
        static_cast<double>(arguments_.experts) / static_cast<double>(arguments_.top_k);
    return ops::scale(b_, ops::reduce_sum(b_, product, {0}, false), scale);
  }

 private:
  DType dtype() const { return scope_.layer().dtype; }

  /// One after the other: of the experts that are left the most probable.
  void choose_experts(Routing& routing) {
    ValueId left = routing.probabilities;
    for (std::int64_t k = 0; k < arguments_.top_k; ++k) {
      const ValueId choice = b_.add(ops::kArgMax, {left}, {{"axis", std::int64_t{2}}});
      const ValueId hit = b_.add(ops::kOneHot, {choice}, {{"depth", arguments_.experts}});
      left = ops::subtract(b_, left, ops::scale(b_, hit, 2.0));  // below all probabilities
      routing.chosen = k == 0 ? hit : ops::add(b_, routing.chosen, hit);
      routing.choices.push_back(choice);
    }
  }

  /// x with an extent of 1 behind its dimensions.
  ValueId with_one(ValueId x) {
    Shape shape = b_.shape(x);
    shape.push_back(1);
    return ops::reshape(b_, x, std::move(shape));
  }

  /// Of [batch, steps, 1] each: [batch, steps, parts].
  ValueId join(const std::vector<ValueId>& parts) {
    if (parts.size() == 1) return parts[0];
    return b_.add(ops::kConcatenate, parts, {{"axis", std::int64_t{2}}});
  }

  /// The choices of positions that count; -1 for those of others.
  ValueId leave_out(ValueId mask, ValueId choices) {
    if (mask == kNoValue) return choices;
    const ValueId none = ops::constant(b_, -1, {DType::kInt32, {}});
    return choose(b_, mask, choices, none);
  }

  /// Of all experts, `<path>/experts/<name>/kernel`; kNoValue where it is not `present`.
  ValueId kernel(const char* name, std::int64_t in, std::int64_t out, bool present = true) {
    const PartScope part(scope_, fmt::format("experts/{}", name), scope_.layer());
    return scope_.optional_variable(present, "use_gate: false", "kernel",
                                    {arguments_.experts, in, out},
                                    with_fans(arguments_.initializer, {in, out}));
  }

  /// The hidden units of the experts, of what they take times a kernel.
  template <class Times>
  ValueId feed(const Times& times) {
    const ValueId gate = kernel("gate", width_, arguments_.units, arguments_.is_gated);
    const ValueId up = times(kernel("up", width_, arguments_.units));
    if (gate == kNoValue) return arguments_.activation(b_, up);
    return ops::multiply(b_, arguments_.activation(b_, times(gate)), up);
  }

  ValueId down() { return kernel("down", arguments_.units, width_); }

  Scope& scope_;
  GraphBuilder& b_;
  const Arguments& arguments_;
  std::int64_t width_;
};

/// Slots of an expert in a sample of so many positions; 0 where all go to every expert.
std::int64_t capacity_of(const Scope& scope, const Arguments& arguments, std::int64_t positions) {
  if (!arguments.capacity_factor || !scope.training()) return 0;
  const double share = static_cast<double>(arguments.top_k) * static_cast<double>(positions) /
                       static_cast<double>(arguments.experts);
  const double slots = std::max(1.0, std::ceil(*arguments.capacity_factor * share));
  return slots < static_cast<double>(positions) ? static_cast<std::int64_t>(slots) : 0;
}

/// x * (1 + noise), uniform between -noise and noise, in training.
ValueId disturb(Scope& scope, double noise, std::int64_t stream, ValueId x) {
  if (noise <= 0 || !scope.training()) return x;
  GraphBuilder& b = scope.builder();
  const ValueId factors =
      b.add(ops::kRandomUniform, {scope.iteration()},
            {{"key", stream}, {"low", 1 - noise}, {"high", 1 + noise}, {"shape", b.shape(x)}});
  return ops::multiply(b, x, scope.cast(factors, scope.layer().dtype));
}

ValueId build(Scope& scope, config::Reader& args, std::span<const ValueId> inputs) {
  GraphBuilder& b = scope.builder();
  const Arguments arguments = read_arguments(args);
  const std::int64_t stream = read_stream(scope, args);
  const Shape shape = b.shape(inputs[0]);
  if (shape.size() != 3) {
    fail_at(args.at(), "{} needs samples [steps, features], not {}; put a Reshape before it",
            args.what(), sample_shape(shape));
  }
  const ValueId x = disturb(scope, arguments.jitter, stream, inputs[0]);
  Experts experts(scope, arguments, x);
  const Routing routing = experts.route(x);
  if (arguments.balance > 0 && scope.training()) {
    const ValueId imbalance = experts.imbalance(routing, scope.mask(0));
    scope.add_loss(ops::scale(b, imbalance, arguments.balance));
  }
  const std::int64_t capacity = capacity_of(scope, arguments, shape[1]);
  return capacity == 0 ? experts.compute_all(routing, x)
                       : experts.compute_slots(routing, x, capacity, scope.mask(0));
}

}  // namespace

const LayerDef kMixtureOfExperts{
    .names = {"MixtureOfExperts"}, .build = build, .passes_mask = true, .module = ""};

}  // namespace meshwork::layers
