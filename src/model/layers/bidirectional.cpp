// y = merge(layer(x), layer'(x)): one of two recurrent layers goes forwards, the other backwards.
// Steps that are masked give 0 where all outputs are asked for.
#include "model/arguments.h"
#include "model/layers/inner.h"
#include "model/layers/recurrent.h"
#include "ops/ops.h"

namespace meshwork::layers {
namespace {

using Merge = ValueId (*)(GraphBuilder& b, ValueId forward, ValueId backward);

ValueId concatenate(GraphBuilder& b, ValueId x, ValueId y) {
  const auto last = static_cast<std::int64_t>(b.shape(x).size()) - 1;
  return b.add(ops::kConcatenate, {x, y}, {{"axis", last}});
}

ValueId average(GraphBuilder& b, ValueId x, ValueId y) {
  return ops::scale(b, ops::add(b, x, y), 0.5);
}

/// `prefix` before the name, unless it is there.
std::string prefixed(const std::string& prefix, const std::string& name) {
  return name.starts_with(prefix) ? name : prefix + name;
}

/// The two layers, and the names of these parts.
struct Pair {
  Inner forward, backward;
  std::string forward_name, backward_name;
  bool is_given = false;  ///< the file gives both
};

Pair make_pair(Inner layer, std::optional<Inner> backward) {
  Pair pair;
  pair.forward_name = prefixed("forward_", layer.name);
  pair.backward_name = backward ? backward->name : prefixed("backward_", layer.name);
  pair.is_given = backward.has_value();
  pair.backward = backward ? *std::move(backward) : layer;
  pair.forward = std::move(layer);
  return pair;
}

std::vector<LayerPart> parts_of(const config::Value& args) {
  const config::Value::Entry* const given = args.find("backward_layer");
  std::optional<Inner> other;
  if (given != nullptr && !given->value.is_null()) other = read_inner(args, "backward_layer");
  const Pair pair = make_pair(read_inner(args, "layer"), other);
  return {{pair.forward_name, "forward_layer", pair.forward.def, pair.forward.spec.args},
          {pair.backward_name, "backward_layer", pair.backward.def, pair.backward.spec.args}};
}

bool says(const Inner& inner, std::string_view key) {
  const config::Value::Entry* const entry = inner.spec.args.find(key);
  return entry != nullptr && !entry->value.is_null() && entry->value.as_bool(key);
}

void check_pair(const config::Reader& args, const Pair& pair) {
  for (const Inner* inner : {&pair.forward, &pair.backward}) {
    if (inner->def->cell != nullptr) continue;
    fail_at(inner->spec.at, "{}: '{}' is no recurrent layer; give it LSTM, GRU or SimpleRNN",
            args.what(), inner->spec.name);
  }
  if (says(pair.forward, "go_backwards")) {
    fail_at(pair.forward.spec.at, "{}: layer has to go forwards; leave go_backwards out",
            args.what());
  }
  if (!pair.is_given) return;
  if (!says(pair.backward, "go_backwards")) {
    fail_at(pair.backward.spec.at, "{}: backward_layer needs go_backwards: true", args.what());
  }
  for (const char* const key : {"return_sequences", "return_state"}) {
    if (says(pair.forward, key) == says(pair.backward, key)) continue;
    fail_at(pair.backward.spec.at, "{}: layer and backward_layer need the same {}", args.what(),
            key);
  }
}

/// The sequence, and of the states before the first step the half that begins at `first`.
std::vector<Masked> inputs_of(const Scope& scope, std::span<const ValueId> inputs, bool is_second) {
  std::vector<Masked> own{{inputs[0], scope.mask(0)}};
  const std::size_t half = (inputs.size() - 1) / 2;
  for (const ValueId state : inputs.subspan(is_second ? 1 + half : 1, half)) own.push_back({state});
  return own;
}

void check_halves(const config::Reader& args, std::span<const ValueId> inputs) {
  if (inputs.size() % 2 == 1) return;
  fail_at(args.at(),
          "{}: initial_state has {} value{}; give those of the layer, then those of the one that "
          "goes backwards",
          args.what(), inputs.size() - 1, inputs.size() == 2 ? "" : "s");
}

void add_states(Scope& scope, const char* direction, const CellDef& cell, const States& states) {
  for (std::size_t s = 0; s < cell.states; ++s) {
    scope.add_output(fmt::format("{}_{}", direction, kStateNames[s]),
                     states.empty() ? kNoValue : states[s], kNoStates);
  }
}

Merge read_merge(config::Reader& args) {
  if (is_null(args, "merge_mode")) {
    fail_at(args.at(),
            "{}: merge_mode: null, which joins nothing, is not supported; take two layers, the "
            "second with go_backwards: true",
            args.what());
  }
  return args.choose<Merge>(
      "merge_mode", concatenate,
      {{"concat", concatenate}, {"sum", ops::add}, {"mul", ops::multiply}, {"ave", average}});
}

ValueId build(Scope& scope, config::Reader& args, std::span<const ValueId> inputs) {
  const Merge merge = read_merge(args);
  refuse_arguments(args, {"weights"});
  std::optional<Inner> other;
  if (args.find("backward_layer") != nullptr) other = read_inner(args, "backward_layer");
  const Pair pair = make_pair(read_inner(args, "layer"), other);
  check_pair(args, pair);
  if (scope.decoding()) {
    fail_at(args.at(),
            "{}: to generate, tokens may not see those behind them; take the layer "
            "without the wrapper",
            args.what());
  }
  check_halves(args, inputs);
  const auto run = [&](const Inner& inner, const std::string& name, bool goes_backwards) {
    States states;
    const auto one = [&](Scope& part, config::Reader& own, std::span<const ValueId> x) {
      Passed passed = pass_over(part, own, *inner.def->cell, x,
                                {.goes_backwards = goes_backwards, .is_of_two = true});
      states = std::move(passed.states);
      return passed.output;
    };
    const auto own = inputs_of(scope, inputs, goes_backwards);
    const ValueId y = build_inner(scope, args, inner, name, own, one);
    add_states(scope, goes_backwards ? "backward" : "forward", *inner.def->cell, states);
    return y;
  };
  const ValueId forward = run(pair.forward, pair.forward_name, false);
  const ValueId backward = run(pair.backward, pair.backward_name, true);
  GraphBuilder& b = scope.builder();
  if (b.shape(forward) != b.shape(backward) && merge != concatenate) {
    fail_at(args.at(), "{}: its layers give samples {} and {}; give both as many units",
            args.what(), sample_shape(b.shape(forward)), sample_shape(b.shape(backward)));
  }
  scope.set_mask(b.shape(forward).size() == 3 ? scope.mask(0) : kNoValue);
  return merge(b, forward, backward);
}

}  // namespace

const LayerDef kBidirectional{.names = {"Bidirectional"},
                              .build = build,
                              .max_inputs = kAnyNumber,
                              .call_inputs = {"sequences", "initial_state"},
                              .ends_with_list = true,
                              .parts_of = parts_of};

}  // namespace meshwork::layers
