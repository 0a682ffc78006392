#include "model/layers/lora.h"

#include "graph/dim_rule.h"
#include "ops/ops.h"

namespace meshwork::layers {
namespace {

/// "a rank, rank b -> a b" for rank 2.
std::string product(std::size_t rank) {
  const std::string all = factor_names(rank);
  const std::string leading = factor_names(rank - 1);
  const std::string last = factor_name(rank - 1);
  return fmt::format("{} rank, rank {} -> {}", leading, last, all);
}

}  // namespace

Lora read_lora(config::Reader& args) {
  Lora lora;
  lora.rank = args.get_integer("lora_rank", config::at_least(1)).value_or(0);
  const auto alpha = args.get_real("lora_alpha");
  if (lora.rank > 0 && alpha) lora.scale = *alpha / static_cast<double>(lora.rank);
  return lora;
}

ValueId add_base(Scope& scope, const Lora& lora, const std::string& name, const Shape& shape,
                 const Initializer& initializer) {
  return lora.rank > 0 ? scope.frozen_variable(name, shape, initializer)
                       : scope.variable(name, shape, initializer);
}

ValueId adapt(Scope& scope, const Lora& lora, const std::string& name, ValueId base) {
  GraphBuilder& b = scope.builder();
  Shape shape = b.shape(base);
  const Shape right{lora.rank, shape.back()};
  shape.back() = lora.rank;
  const bool is_adapted = lora.rank > 0;
  const ValueId a =
      scope.optional_variable(is_adapted, "no lora_rank", fmt::format("lora_{}_a", name), shape,
                              read_initializer("he_uniform"));
  const ValueId c = scope.optional_variable(
      is_adapted, "no lora_rank", fmt::format("lora_{}_b", name), right, read_initializer("zeros"));
  if (!is_adapted) return base;
  ValueId change = ops::einsum(b, a, c, product(shape.size()));
  if (lora.scale != 1) change = ops::scale(b, change, lora.scale);
  return ops::add(b, base, change);
}

}  // namespace meshwork::layers
