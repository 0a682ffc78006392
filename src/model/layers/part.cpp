#include "model/layers/part.h"

namespace meshwork::layers {

LayerFacts facts_of(const LayerDef& def, std::span<const Masked> inputs, LayerFacts given) {
  given.variable_dtype = def.inside == Inside::kLayerDtype ? given.dtype : DType::kFloat32;
  given.masks.clear();
  for (const Masked& input : inputs) given.masks.push_back(input.mask);
  return given;
}

namespace {

/// Errors about misspelt keys know those of what the layer's variables may be given.
void know_arguments(const Graph& graph, std::size_t first_variable, config::Reader& args) {
  for (std::size_t i = first_variable; i < graph.variables.size(); ++i) {
    if (!graph.variables[i].trainable) continue;
    const std::string& path = graph.variables[i].path;
    const std::string name = path.substr(path.rfind('/') + 1);
    for (const std::string_view kind : {kRegularizer, kConstraint}) {
      args.find(name + std::string(kind));
    }
  }
}

}  // namespace

ValueId build_entered(Scope& scope, const LayerDef& def, config::Reader& args,
                      std::span<const Masked> inputs, const BuildLayer& build) {
  std::vector<ValueId> operands;
  for (const Masked& input : inputs) {
    ValueId x = input.value;
    if (x != kNoValue && !def.takes_any_dtype) x = scope.cast(x, scope.layer().dtype);
    if (x != kNoValue && def.inside == Inside::kFloat32) x = scope.cast(x, DType::kFloat32);
    operands.push_back(x);
  }
  const Graph& graph = scope.builder().graph();
  const std::size_t first_variable = graph.variables.size();
  const ValueId output = build(scope, args, operands);
  know_arguments(graph, first_variable, args);
  args.finish();
  return scope.cast(output, scope.output_dtype());
}

PartArguments::PartArguments(const config::Reader& around) : what_(around.what()) {
  map_.kind = config::Value::Kind::kMap;
  map_.at = around.at();
}

PartArguments& PartArguments::set(std::string_view key, const char* word) {
  const config::Value value = config::Value::of_text(word, map_.at);
  return set(key, &value);
}

PartArguments& PartArguments::set(std::string_view key, bool yes) {
  return set(key, yes ? "true" : "false");
}

PartArguments& PartArguments::set(std::string_view key, std::int64_t number) {
  return set(key, fmt::format("{}", number).c_str());
}

PartArguments& PartArguments::set(std::string_view key, double number) {
  return set(key, fmt::format("{}", number).c_str());
}

PartArguments& PartArguments::set(std::string_view key, const config::Value* given) {
  if (given != nullptr) map_.insert(key, given->at).value = *given;
  return *this;
}

ValueId build_part(Scope& scope, std::string_view name, const LayerDef& def,
                   const PartArguments& arguments, std::span<const Masked> inputs) {
  const PartScope part(scope, name, facts_of(def, inputs, scope.layer()));
  config::Reader args(arguments.map(), arguments.what());
  return build_entered(scope, def, args, inputs, def.build);
}

}  // namespace meshwork::layers
