#include "model/layers/recurrent.h"

#include <algorithm>
#include <optional>
#include <string>

#include "model/arguments.h"
#include "model/layers/masks.h"
#include "model/layers/noise.h"
#include "ops/ops.h"

namespace meshwork::layers {
namespace {

/// Steps are written out, so a program grows with them.
constexpr std::int64_t kMostSteps = 2'000;

/// What all of these layers have beside the facts of a cell.
struct Options {
  bool use_bias = true;
  Initializer kernel_initializer, recurrent_initializer, bias_initializer;
  double dropout = 0, recurrent_dropout = 0;
  bool drops_by_gate = false;  ///< what is dropped differs from gate to gate
  std::optional<std::int64_t> seed;
  bool returns_sequences = false;
  bool returns_state = false;
  bool goes_backwards = false;
  bool keeps_order = false;
  bool zeroes_masked = false;
};

Activation read_cell_activation(config::Reader& args, std::string_view key, const char* fallback) {
  return [activation = read_activation(args, key, fallback), at = args.at(), what = args.what(),
          key](GraphBuilder& b, ValueId x) {
    const ValueId y = activation(b, x);
    if (b.shape(y) == b.shape(x)) return y;
    config::fail_at(at, "{}: {} may not change the number of units", what, key);
  };
}

/// Arguments that other programs need to be told, and those that only one of them has.
void read_without_effect(config::Reader& args, const CellDef& cell) {
  args.get("unroll", false);
  if (cell.is_gated) args.find("use_cudnn");
}

void refuse_stateful(config::Reader& args) {
  if (args.get("stateful", false)) {
    fail_at(args.at(),
            "{}: 'stateful' is not supported; no batch begins where the one before ended, so give "
            "the layer longer sequences",
            args.what());
  }
}

Options read_options(config::Reader& args, const CellDef& cell, CellFacts& facts,
                     const Direction& direction) {
  Options options;
  facts.units = args.require_integer("units", config::at_least(1));
  facts.activation = read_cell_activation(args, "activation", "tanh");
  if (cell.is_gated) {
    facts.recurrent_activation = read_cell_activation(args, "recurrent_activation", "sigmoid");
  }
  options.use_bias = args.get("use_bias", true);
  options.kernel_initializer = read_initializer(args, "kernel_initializer", "glorot_uniform");
  options.recurrent_initializer = read_initializer(args, "recurrent_initializer", "orthogonal");
  options.bias_initializer = read_initializer(args, "bias_initializer", "zeros");
  options.dropout = args.get("dropout", 0.0, config::kFromZeroBelowOne);
  options.recurrent_dropout = args.get("recurrent_dropout", 0.0, config::kFromZeroBelowOne);
  options.seed = args.get_integer("seed");
  if (cell.is_gated) {
    const std::int64_t way = args.get("implementation", 2, config::between(1, 2));
    options.drops_by_gate = way == 1 || options.recurrent_dropout > 0;
  }
  if (cell.read != nullptr) cell.read(args, facts);
  options.returns_sequences = args.get("return_sequences", false);
  options.goes_backwards = args.get("go_backwards", false) || direction.goes_backwards;
  options.keeps_order = direction.is_of_two;
  const bool zeroes_masked = args.get("zero_output_for_mask", false);
  options.zeroes_masked = direction.is_of_two ? options.returns_sequences : zeroes_masked;
  options.returns_state = args.get("return_state", false);
  refuse_stateful(args);
  read_without_effect(args, cell);
  return options;
}

/// `bias_initializer`, but for the gate whose bias begins at 1.
Initializer with_ones(Initializer initializer, const CellFacts& cell) {
  if (cell.gate_of_ones < 0) return initializer;
  const Shape ones{cell.gate_of_ones * cell.units, (cell.gate_of_ones + 1) * cell.units};
  return [initializer = std::move(initializer), ones](const InitRequest& request) {
    InitialValue value = initializer(request);
    value.ones = ones;
    return value;
  };
}

class Layer {
 public:
  Layer(Scope& scope, const CellDef& cell, CellFacts facts, Options options)
      : scope_(scope),
        b_(scope.builder()),
        cell_(cell),
        facts_(std::move(facts)),
        options_(std::move(options)) {}

  /// initial: [batch, units] each, or none.
  Passed build(ValueId x, std::span<const ValueId> initial) {
    const Shape shape = b_.shape(x);
    batch_ = shape[0];
    steps_ = shape[1];
    add_variables(shape[2]);
    gates_ = from_input(x);
    if (const ValueId mask = scope_.mask(0); mask != kNoValue) {
      const ValueId of_steps = ops::transpose(b_, any_inside(mask), {1, 0});
      mask_ = ops::reshape(b_, of_steps, {steps_, batch_, 1});
      scope_.set_mask(options_.returns_sequences ? mask : kNoValue);
    }
    return run(drawn_factors("recurrent_dropout", options_.recurrent_dropout, 1, facts_.units),
               initial);
  }

 private:
  void add_variables(std::int64_t features) {
    const std::int64_t width = cell_.gates * facts_.units;
    const auto name = [&](const char* variable) {
      return fmt::format("{}/{}", cell_.name, variable);
    };
    kernel_ = scope_.variable(name("kernel"), {features, width}, options_.kernel_initializer);
    recurrent_kernel_ = scope_.variable(name("recurrent_kernel"), {facts_.units, width},
                                        options_.recurrent_initializer);
    const Shape bias = facts_.second_bias < 0 ? Shape{width} : Shape{2, width};
    bias_ = scope_.optional_variable(options_.use_bias, "use_bias: false", name("bias"), bias,
                                     with_ones(options_.bias_initializer, facts_));
    if (bias_ != kNoValue && facts_.second_bias >= 0) divide_bias();
  }

  /// [2, gates units] -> what can be added to the product of the input, and the rest.
  void divide_bias() {
    const auto part = [&](std::int64_t row, std::int64_t first, std::int64_t count) {
      const ValueId line =
          b_.add(ops::kSlice, {bias_},
                 {{"axis", std::int64_t{0}}, {"start", row}, {"size", std::int64_t{1}}});
      return b_.add(ops::kSlice, {line},
                    {{"axis", std::int64_t{1}}, {"start", first}, {"size", count}});
    };
    const std::int64_t first = facts_.second_bias * facts_.units;
    const std::int64_t rest = cell_.gates * facts_.units - first;
    const ValueId both = ops::add(b_, part(0, 0, first), part(1, 0, first));
    facts_.recurrent_bias = ops::reshape(b_, part(1, first, rest), {1, 1, rest});
    bias_ = b_.add(ops::kConcatenate, {both, part(0, first, rest)}, {{"axis", std::int64_t{1}}});
  }

  /// A step counts where any position inside it does: [batch, steps].
  ValueId any_inside(ValueId mask) {
    std::vector<std::int64_t> inside;
    for (std::size_t d = 2; d < b_.shape(mask).size(); ++d) {
      inside.push_back(static_cast<std::int64_t>(d));
    }
    return inside.empty() ? mask : ops::reduce_max(b_, mask, inside, false);
  }

  /// What the input gives to all gates at all steps: [steps gates, batch, units].
  ValueId from_input(ValueId x) {
    const Shape shape = b_.shape(x);
    const ValueId kernel = by_gates(kernel_, shape[2]);
    const ValueId factors = drawn_factors("dropout", options_.dropout, 2, shape[2]);
    const char* equation = "b t f, f g u -> t g b u";
    if (factors != kNoValue) {
      x = ops::multiply(b_, ops::reshape(b_, x, {1, batch_, steps_, shape[2]}), factors);
      equation = "g b t f, f g u -> t g b u";
      if (!options_.drops_by_gate) {
        x = ops::reshape(b_, x, shape);
        equation = "b t f, f g u -> t g b u";
      }
    }
    ValueId y = ops::einsum(b_, x, kernel, equation);
    if (bias_ != kNoValue) {
      y = ops::add(b_, y, ops::reshape(b_, bias_, {cell_.gates, 1, facts_.units}));
    }
    return ops::reshape(b_, y, {steps_ * cell_.gates, batch_, facts_.units});
  }

  ValueId by_gates(ValueId kernel, std::int64_t features) {
    return ops::reshape(b_, kernel, {features, cell_.gates, facts_.units});
  }

  /// What drops features of the input, or units of the state, alike at all steps: [1 or gates,
  /// batch, (1,) width]; kNoValue: nothing does.
  ValueId drawn_factors(std::string_view name, double rate, int rank, std::int64_t width) {
    const PartScope part(scope_, name, scope_.layer());
    Shape shape{options_.drops_by_gate ? cell_.gates : 1, batch_, width};
    if (rank == 2) shape.insert(shape.begin() + 2, 1);
    return draw_factors(scope_, rate, scope_.random_key(options_.seed), shape,
                        b_.type(kernel_).dtype);
  }

  Passed run(ValueId factors, std::span<const ValueId> initial) {
    RecurrentKernel kernel(b_, by_gates(recurrent_kernel_, facts_.units), factors);
    States states = initial_states(initial);
    std::vector<std::vector<ValueId>> kept(cell_.states);
    std::vector<ValueId> outputs;
    for (std::int64_t i = 0; i < steps_; ++i) {
      const std::int64_t step = options_.goes_backwards ? steps_ - 1 - i : i;
      outputs.push_back(advance(kernel, step, states));
      for (std::size_t s = 0; s < states.size(); ++s) kept[s].push_back(states[s]);
    }
    if (scope_.decoding()) {
      for (std::size_t s = 0; s < kept.size(); ++s) scope_.cache(cache_name(s), in_batch(kept[s]));
    }
    Passed passed;
    for (const ValueId state : states) {
      if (options_.returns_state) passed.states.push_back(of_one_step(state));
    }
    if (!options_.returns_sequences) {
      passed.output = of_one_step(outputs.back());
      return passed;
    }
    if (options_.goes_backwards && options_.keeps_order) std::ranges::reverse(outputs);
    passed.output = in_batch(outputs);
    return passed;
  }

  ValueId of_one_step(ValueId x) { return ops::reshape(b_, x, {batch_, facts_.units}); }

  /// Takes the states one step on, and gives the output.
  ValueId advance(RecurrentKernel& kernel, std::int64_t step, States& states) {
    const Gates x(b_, rows(b_, gates_, step * cell_.gates, cell_.gates), 0);
    States next = cell_.step(b_, facts_, x, kernel, states);
    ValueId output = next[0];
    if (mask_ != kNoValue) {
      const ValueId mask = rows(b_, mask_, step, 1);
      const auto choose = [&](ValueId there, ValueId masked) {
        return ops::select(b_, mask, there, masked);
      };
      for (std::size_t s = 0; s < next.size(); ++s) next[s] = choose(next[s], states[s]);
      output = options_.zeroes_masked ? choose(output, ops::constant_like(b_, 0, output)) : next[0];
    }
    states = std::move(next);
    return output;
  }

  /// [1, batch, units] of each step -> [batch, steps, units]
  ValueId in_batch(const std::vector<ValueId>& of_steps) {
    const ValueId all = of_steps.size() == 1
                            ? of_steps[0]
                            : b_.add(ops::kConcatenate, of_steps,
                                     {{"axis", std::int64_t{0}}, {"read_at_once", true}});
    return ops::transpose(b_, all, {1, 0, 2});
  }

  static std::string cache_name(std::size_t state) {
    return state == 0 ? "state_cache" : fmt::format("state_cache_{}", state);
  }

  /// Those given, else numbers; of a part of a sequence, what the part before has come to.
  States initial_states(std::span<const ValueId> given) {
    States states;
    for (const ValueId state : given) {
      states.push_back(ops::reshape(b_, state, {1, batch_, facts_.units}));
    }
    if (!given.empty()) return states;
    for (std::size_t s = 0; s < cell_.states; ++s) {
      const DType dtype = b_.type(gates_).dtype;
      states.push_back(ops::constant_like(b_, 0, gates_));
      if (scope_.decoding()) {
        const ValueId before = scope_.last_row(cache_name(s), {dtype, {batch_, facts_.units}});
        states.back() = ops::reshape(b_, before, {1, batch_, facts_.units});
      } else {
        scope_.mention_cache(cache_name(s));
      }
    }
    return states;
  }

  Scope& scope_;
  GraphBuilder& b_;
  const CellDef& cell_;
  CellFacts facts_;
  Options options_;
  std::int64_t batch_ = 0, steps_ = 0;
  ValueId kernel_ = kNoValue, recurrent_kernel_ = kNoValue, bias_ = kNoValue;
  ValueId gates_ = kNoValue;  ///< what the input gives
  ValueId mask_ = kNoValue;   ///< [steps, batch, 1]
};

void check_steps(const config::Reader& args, const Shape& shape) {
  if (shape.size() != 3) {
    fail_at(args.at(),
            "{} needs samples [steps, features], not {}; put a Reshape before it, or an Embedding "
            "of numbers of tokens",
            args.what(), sample_shape(shape));
  }
  if (shape[1] < 1 || shape[1] > kMostSteps) {
    fail_at(args.at(), "{}: sequences have {} steps; it takes 1 to {}, so cut them", args.what(),
            shape[1], kMostSteps);
  }
}

std::string state_names(const CellDef& cell) {
  std::string names;
  for (std::size_t s = 0; s < cell.states; ++s) {
    names += fmt::format("{}{}", s == 0 ? "" : ", ", kStateNames[s]);
  }
  return names;
}

void check_initial(const GraphBuilder& b, const config::Reader& args, const CellDef& cell,
                   std::int64_t units, std::span<const ValueId> initial) {
  if (initial.empty()) return;
  if (initial.size() != cell.states) {
    fail_at(args.at(), "{}: initial_state has {} value{}; it takes {}: [{}]", args.what(),
            initial.size(), initial.size() == 1 ? "" : "s", cell.states, state_names(cell));
  }
  for (std::size_t s = 0; s < initial.size(); ++s) {
    const Shape& shape = b.shape(initial[s]);
    if (shape.size() == 2 && shape[1] == units) continue;
    fail_at(args.at(), "{}: initial_state: {} has samples {}; with units: {} they have to be [{}]",
            args.what(), kStateNames[s], sample_shape(shape), units, units);
  }
}

void check_decodes(const Scope& scope, const config::Reader& args, const Options& options,
                   const Shape& shape, bool has_initial) {
  if (!scope.decoding()) return;
  if (has_initial || options.returns_state) {
    fail_at(args.at(),
            "{}: to generate, states go from token to token within the layer; leave {} out",
            args.what(), has_initial ? "initial_state" : "return_state");
  }
  if (options.goes_backwards) {
    fail_at(args.at(), "{}: to generate, tokens may not see those behind them, as go_backwards has",
            args.what());
  }
  if (!options.returns_sequences) {
    fail_at(args.at(), "{}: to generate, it has to have return_sequences: true", args.what());
  }
  if (shape[1] != scope.decoding()->tokens) {
    fail_at(args.at(),
            "{}: to generate, the first dimension of its input is that of tokens, not {}",
            args.what(), sample_shape(shape));
  }
}

}  // namespace

Passed pass_over(Scope& scope, config::Reader& args, const CellDef& cell,
                 std::span<const ValueId> inputs, const Direction& direction) {
  CellFacts facts;
  const Options options = read_options(args, cell, facts, direction);
  const Shape shape = scope.builder().shape(inputs[0]);
  const auto initial = inputs.subspan(1);
  check_steps(args, shape);
  check_initial(scope.builder(), args, cell, facts.units, initial);
  check_decodes(scope, args, options, shape, !initial.empty());
  const ValueId first = scope.graph().end();
  const Passed passed = Layer(scope, cell, facts, options).build(inputs[0], initial);
  if (scope.decoding()) scope.add_recurrence({first, passed.output});
  return passed;
}

ValueId build_recurrent(Scope& scope, config::Reader& args, const CellDef& cell,
                        std::span<const ValueId> inputs) {
  const Passed passed = pass_over(scope, args, cell, inputs);
  for (std::size_t s = 0; s < cell.states; ++s) {
    const ValueId state = passed.states.empty() ? kNoValue : passed.states[s];
    scope.add_output(fmt::format("state_{}", kStateNames[s]), state, kNoStates);
  }
  return passed.output;
}

}  // namespace meshwork::layers
