#include "model/layers/part.h"

namespace meshwork::layers {

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
  LayerFacts facts = scope.layer();
  const DType dtype = facts.dtype;
  const DType inside = def.inside == Inside::kLayerDtype ? dtype : DType::kFloat32;
  facts.variable_dtype = inside;
  facts.masks.clear();
  std::vector<ValueId> operands;
  for (const Masked& input : inputs) {
    facts.masks.push_back(input.mask);
    const bool widens = def.inside == Inside::kFloat32 && input.value != kNoValue;
    operands.push_back(widens ? scope.cast(input.value, inside) : input.value);
  }
  const PartScope part(scope, name, std::move(facts));
  config::Reader args(arguments.map(), arguments.what());
  const ValueId output = def.build(scope, args, operands);
  args.finish();
  return scope.cast(output, dtype);
}

}  // namespace meshwork::layers
