#include "model/layers/inner.h"

#include "config/lookup.h"
#include "model/arguments.h"
#include "model/variable_arguments.h"

namespace meshwork::layers {
namespace {

Inner inner_of(const config::Value& value, std::string_view key) {
  Inner inner;
  inner.spec = config::read_class(value, key);
  inner.def = &config::look_up(layer_registry(), inner.spec, "layer");
  if (is_operation(*inner.def)) {
    fail_at(inner.spec.at, "{}: '{}' is an operation, and Keras takes a layer here; put it behind",
            key, inner.spec.name);
  }
  const config::Value::Entry* const name = inner.spec.args.find("name");
  if (name != nullptr) inner.name = name->value.as_string("name");
  if (inner.name.empty() || inner.name.find('/') != std::string::npos) {
    fail_at(inner.spec.at, "{}: name '{}' cannot be part of a path; leave it out, or give another",
            key, inner.name);
  }
  return inner;
}

}  // namespace

Inner read_inner(const config::Value& arguments, std::string_view key) {
  return inner_of(arguments.find(key)->value, key);
}

Inner read_inner(config::Reader& args, std::string_view key) {
  return inner_of(args.require(key), key);
}

ValueId build_inner(Scope& scope, const config::Reader& around, const Inner& inner,
                    std::string_view name, std::span<const Masked> inputs,
                    const BuildLayer& build) {
  config::Reader args(inner.spec.args,
                      fmt::format("{}: '{}' ({})", around.what(), inner.name, inner.spec.name));
  args.find("name");
  for (const std::string_view key : {std::string_view("dtype"), kActivityRegularizer}) {
    if (args.find_refused(key) == nullptr) continue;
    fail_at(args.at(), "{}: '{}' is not supported here; give it to the wrapper", args.what(), key);
  }
  LayerFacts facts = scope.layer();
  facts.trainable = args.get("trainable", true) && facts.trainable;
  facts.variables = read_variable_arguments(inner.spec.args, args);
  const PartScope part(scope, name, facts_of(*inner.def, inputs, std::move(facts)));
  const ValueId y = build_entered(scope, *inner.def, args, inputs, build);
  if (!scope.further_outputs().empty()) {
    fail_at(args.at(), "{}: within this layer it gives one output; leave return_state out",
            args.what());
  }
  check_used(args, scope.layer().variables, scope.used());
  return y;
}

}  // namespace meshwork::layers
