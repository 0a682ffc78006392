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
                    std::string_view name, const Masked& input,
                    const std::function<ValueId(config::Reader& args, ValueId x)>& build) {
  config::Reader args(inner.spec.args,
                      fmt::format("{}: '{}' ({})", around.what(), inner.name, inner.spec.name));
  args.find("name");
  const bool trainable = args.get("trainable", true);
  for (const std::string_view key : {std::string_view("dtype"), kActivityRegularizer}) {
    if (args.find(key) == nullptr) continue;
    fail_at(args.at(), "{}: '{}' is not supported here; give it to the wrapper", args.what(), key);
  }
  VariableArguments arguments = read_variable_arguments(inner.spec.args, args);
  LayerFacts facts = scope.layer();
  const DType dtype = facts.dtype;
  const DType inside = inner.def->inside == Inside::kLayerDtype ? dtype : DType::kFloat32;
  facts.trainable = facts.trainable && trainable;
  facts.variable_dtype = inside;
  facts.masks = {input.mask};
  facts.regularizers = arguments.regularizers;
  facts.constraints = arguments.constraints;
  ValueId x = input.value;
  if (!inner.def->takes_any_dtype) x = scope.cast(x, dtype);
  if (inner.def->inside == Inside::kFloat32) x = scope.cast(x, inside);
  const PartScope part(scope, name, std::move(facts));
  const ValueId y = build(args, x);
  args.finish();
  check_used(args, arguments, scope.used());
  return scope.cast(y, dtype);
}

}  // namespace meshwork::layers
