#include "sharding/choice.h"

#include <algorithm>
#include <numeric>
#include <optional>

#include "base/check.h"
#include "graph/flops.h"
#include "graph/op_def.h"
#include "graph/views.h"
#include "sharding/factor_axes.h"

namespace meshwork {
namespace {

void add_unique(std::vector<int>& list, int item) {
  if (std::find(list.begin(), list.end(), item) == list.end()) list.push_back(item);
}

/// Whether the op makes a factor: none of its operands has it.
bool is_made(const DimRule& rule, int factor) {
  return std::none_of(rule.inputs.begin(), rule.inputs.end(),
                      [&](const auto& operand) { return DimRule::contains(operand, factor); });
}

/// The factor of an operand that an axis shards in a layout, or -1; none where it shards nothing.
std::optional<int> factor_along(const Site& site, const DimRule::Operand& operand,
                                const Layout& layout, int axis) {
  const int dim = dim_of_axis(layout, axis);
  if (dim < 0) return std::nullopt;
  const auto d = static_cast<std::size_t>(dim);
  return factor_of_axis(site.rule, operand[d], layout.dims[d], axis, site.mesh);
}

/// Factors that operands and pin bring along an axis, in order; -1 stands for one that cannot be
/// sharded.
std::vector<int> brought_factors(const Site& site, int axis) {
  std::vector<int> factors;
  const auto bring = [&](const DimRule::Operand& operand, const Layout& layout) {
    const std::optional<int> along = factor_along(site, operand, layout, axis);
    if (!along) return;
    const int factor = *along;
    const bool possible = factor >= 0 && may_shard(site.rule, factor, axis, site.mesh);
    if (possible) add_unique(factors, factor);
    FactorAxes alone(site.rule.factors.size());
    if (possible) alone[static_cast<std::size_t>(factor)] = {axis};
    // Others may have to split factors before it.
    if (!possible || !is_legal(site.rule, alone, site.mesh)) add_unique(factors, -1);
  };
  if (site.pin != nullptr) bring(site.rule.output, *site.pin);
  for (std::size_t i = 0; i < site.inputs.size(); ++i) {
    if (site.inputs[i].any_layout) continue;
    for (const Layout& layout : site.inputs[i].available) bring(site.rule.inputs[i], layout);
  }
  if ((factors.empty() || site.may_gather) && site.like != nullptr) {
    const int dim = dim_of_axis(*site.like, axis);
    const int factor =
        dim < 0 ? -1 : DimRule::major_factor(site.rule.output, static_cast<std::size_t>(dim));
    if (factor >= 0 && is_made(site.rule, factor)) bring(site.rule.output, *site.like);
  }
  return factors;
}

/// Whether nothing but copies of operands, beside the layouts that they are kept in, bring an axis.
bool is_of_copies_only(const Site& site, int axis) {
  const auto has = [&](const Layout& layout) { return dim_of_axis(layout, axis) >= 0; };
  if (site.pin != nullptr && has(*site.pin)) return false;
  bool any = false;
  for (const Operand& input : site.inputs) {
    if (input.any_layout) continue;
    if (has(input.kept())) return false;
    any = any || std::ranges::any_of(input.available, has);
  }
  return any;
}

/// Whether an operand that is no weight brings a factor along an axis, in the layout it is kept in.
bool is_of_values(const Site& site, int axis, int factor) {
  for (std::size_t i = 0; i < site.inputs.size(); ++i) {
    if (site.inputs[i].any_layout || is_weight(site.graph, site.node.inputs[i])) continue;
    if (factor_along(site, site.rule.inputs[i], site.inputs[i].kept(), axis) == factor) return true;
  }
  return false;
}

/// Whether an axis goes back, when the op is done, to one of `factors` that the result has: a
/// lookup in a table whose columns lie over an axis of the batch saves no work that all behind it
/// is to give up the batch for.
bool goes_back(const Site& site, int axis, int factor, const std::vector<int>& factors) {
  if (site.pin != nullptr || site.node.inputs.size() < 2) return false;
  if (flops_of(site.graph, site.node) > 0 || is_of_values(site, axis, factor)) return false;
  return std::ranges::any_of(factors, [&](int other) {
    return other >= 0 && other != factor && DimRule::contains(site.rule.output, other) &&
           is_of_values(site, axis, other);
  });
}

/// Whether the result of an op holds all that its operands may: else the sum of rounded parts is
/// not the rounded sum.
bool keeps_digits(const Site& site) {
  const DType result = site.node.type.dtype;
  return std::all_of(site.node.inputs.begin(), site.node.inputs.end(), [&](ValueId input) {
    const DType operand = site.graph.type(input).dtype;
    return operand == result || !is_floating(operand) ||
           (is_floating(result) && size_of(result) >= size_of(operand));
  });
}

/// Whether the op may work on partial operands along an axis and leave the result partial. Beside
/// these, one that all devices have counts as the whole of one device and 0 of the others.
bool may_pass(const Site& site, int axis) {
  if (!keeps_digits(site)) return false;
  const OpDef& op = *site.node.op;
  std::vector<std::size_t> partial;
  for (std::size_t i = 0; i < site.inputs.size(); ++i) {
    const Layout& layout = site.inputs[i].kept();
    if (!is_partial(layout, axis)) continue;
    if (layout.reduction != Reduction::kSum) return false;
    partial.push_back(i);
  }
  switch (op.linear) {
    case Linear::kNo:
      return false;
    case Linear::kJointly:
      return !partial.empty() && std::ranges::all_of(site.inputs, [&](const Operand& input) {
        return dim_of_axis(input.kept(), axis) < 0;
      });
    case Linear::kEach:
      return partial.size() == 1;
    case Linear::kFirst:
      return partial.size() == 1 && partial.front() == 0;
  }
  return false;
}

/// Orders the axes that share a factor: as the pin has them there, else the larger operand.
void put_in_order(const Site& site, int factor, std::vector<int>& axes) {
  std::vector<int> order;
  const auto append = [&](const DimRule::Operand& operand, const Layout& layout) {
    const int dim = DimRule::dim_of(operand, factor);
    if (dim < 0) return;
    for (const int axis : layout.dims[static_cast<std::size_t>(dim)]) add_unique(order, axis);
  };
  if (site.pin != nullptr) append(site.rule.output, *site.pin);
  std::vector<std::size_t> by_size(site.inputs.size());
  std::iota(by_size.begin(), by_size.end(), 0);
  const auto size = [&](std::size_t i) {
    return num_elements(site.graph.type(site.node.inputs[i]).shape);
  };
  std::stable_sort(by_size.begin(), by_size.end(),
                   [&](std::size_t a, std::size_t b) { return size(a) > size(b); });
  for (const std::size_t i : by_size) append(site.rule.inputs[i], site.inputs[i].kept());
  for (const int axis : axes) add_unique(order, axis);
  std::erase_if(order, [&](int axis) { return std::ranges::count(axes, axis) == 0; });
  axes = std::move(order);
}

Layout operand_layout(const DimRule::Operand& operand, const FactorAxes& factor_axes) {
  Layout layout = replicated(operand.size());
  for (std::size_t d = 0; d < operand.size(); ++d) {
    layout.dims[d] = axes_of(operand[d], factor_axes);
  }
  return layout;
}

/// The halos of operand `i`, whose dimensions are laid out.
void add_halos(const Site& site, std::size_t i, Layout& layout) {
  const Shape& shape = site.graph.type(site.node.inputs[i]).shape;
  for (std::size_t d = 0; d < shape.size(); ++d) {
    set_halo(layout, d, operand_halo(site.rule, i, d, shape, layout.dims[d], site.mesh));
  }
}

/// Lets an axis shard dimension `dim`, whatever it did before.
void settle(Layout& layout, int axis, int dim) {
  std::erase(layout.partial, axis);
  if (const int old = dim_of_axis(layout, axis); old >= 0) {
    std::erase(layout.dims[static_cast<std::size_t>(old)], axis);
  }
  layout.dims[static_cast<std::size_t>(dim)].push_back(axis);
}

}  // namespace

std::vector<Interval> operand_halo(const DimRule& rule, std::size_t i, std::size_t dim,
                                   const Shape& shape, const std::vector<int>& axes,
                                   const Mesh& mesh) {
  const auto& reach = rule.reaches[i][dim];
  if (!reach || axes.empty()) return {};
  const auto factor = static_cast<std::size_t>(DimRule::major_factor(rule.inputs[i], dim));
  return halo_of(*reach, rule.factors[factor].size, shape[dim], axes, mesh);
}

std::vector<std::vector<AxisUse>> axis_choices(const Site& site) {
  std::vector<std::vector<AxisUse>> choices;
  for (int axis = 0; axis < static_cast<int>(site.mesh.sizes.size()); ++axis) {
    std::vector<AxisUse>& uses = choices.emplace_back();
    const std::vector<int> factors = brought_factors(site, axis);
    for (const int factor : factors) {
      if (factor < 0 || goes_back(site, axis, factor, factors)) continue;
      uses.push_back({.kind = AxisUse::Kind::kFactor, .factor = factor});
    }
    // A factor of the result that is brought may take the axis back once the work is done.
    for (const int from : factors) {
      for (const int to : factors) {
        if (from < 0 || to < 0 || from == to || site.pin != nullptr) continue;
        const int dim = DimRule::dim_of(site.rule.output, to);
        if (dim < 0) continue;
        uses.push_back({.kind = AxisUse::Kind::kFactor, .factor = from, .settle_dim = dim});
      }
    }
    const bool partial =
        std::any_of(site.inputs.begin(), site.inputs.end(),
                    [&](const Operand& input) { return is_partial(input.kept(), axis); });
    const bool agreed =
        factors.size() == 1 && factors.front() >= 0 && !is_of_copies_only(site, axis);
    const bool gathers =
        agreed && site.may_gather && !DimRule::contains(site.rule.output, factors.front());
    if (!agreed || partial || gathers) uses.push_back({.kind = AxisUse::Kind::kNone});
    if (may_pass(site, axis)) uses.push_back({.kind = AxisUse::Kind::kPass});
  }
  return choices;
}

bool lay_out(const Site& site, const std::vector<AxisUse>& uses, NodeLayout& result) {
  FactorAxes factor_axes(site.rule.factors.size());
  std::vector<int> passing;
  std::vector<int> reduced;
  for (int axis = 0; axis < std::ssize(uses); ++axis) {
    const AxisUse& use = uses[static_cast<std::size_t>(axis)];
    if (use.kind == AxisUse::Kind::kPass) passing.push_back(axis);
    if (use.kind != AxisUse::Kind::kFactor) continue;
    factor_axes[static_cast<std::size_t>(use.factor)].push_back(axis);
    if (!DimRule::contains(site.rule.output, use.factor)) reduced.push_back(axis);
  }
  for (std::size_t factor = 0; factor < factor_axes.size(); ++factor) {
    std::vector<int>& axes = factor_axes[factor];
    if (axes.size() > 1) put_in_order(site, static_cast<int>(factor), axes);
  }
  if (!passing.empty() && !reduced.empty() && site.node.op->reduction != Reduction::kSum)
    return false;
  if (!is_legal(site.rule, factor_axes, site.mesh)) return false;

  result = {};
  for (std::size_t i = 0; i < site.inputs.size(); ++i) {
    Layout layout = operand_layout(site.rule.inputs[i], factor_axes);
    add_halos(site, i, layout);
    for (const int axis : passing) {
      const bool is_joint = site.node.op->linear == Linear::kJointly;
      if (is_joint || is_partial(site.inputs[i].kept(), axis)) layout.partial.push_back(axis);
    }
    std::sort(layout.partial.begin(), layout.partial.end());
    result.inputs.push_back(std::move(layout));
  }
  result.computed = operand_layout(site.rule.output, factor_axes);
  result.computed.partial = passing;
  result.computed.partial.insert(result.computed.partial.end(), reduced.begin(), reduced.end());
  std::sort(result.computed.partial.begin(), result.computed.partial.end());
  result.computed.reduction = reduced.empty() ? Reduction::kSum : site.node.op->reduction;
  result.output = site.pin != nullptr ? *site.pin : result.computed;
  if (site.node.op->reduce_eagerly && site.pin == nullptr) result.output.partial.clear();
  for (int axis = 0; axis < static_cast<int>(uses.size()); ++axis) {
    const int dim = uses[static_cast<std::size_t>(axis)].settle_dim;
    if (dim >= 0) settle(result.output, axis, dim);
  }
  return true;
}

}  // namespace meshwork
