#include "sharding/factor_axes.h"

#include <algorithm>

namespace meshwork {
namespace {

std::int64_t size_of(const DimRule& rule, int factor) {
  return rule.factors[static_cast<std::size_t>(factor)].size;
}

/// Calls `visit` for every dimension of operands and result that has several factors.
template <class Visit>
bool all_merged(const DimRule& rule, const Visit& visit) {
  const auto fits = [&](const DimRule::Operand& operand) {
    return std::all_of(operand.begin(), operand.end(),
                       [&](const DimRule::Dim& dim) { return dim.size() < 2 || visit(dim); });
  };
  return fits(rule.output) && std::all_of(rule.inputs.begin(), rule.inputs.end(), fits);
}

}  // namespace

int factor_of_axis(const DimRule& rule, const DimRule::Dim& dim, const std::vector<int>& axes,
                   int axis, const Mesh& mesh) {
  if (dim.empty()) return -1;
  const auto before = std::find(axes.begin(), axes.end(), axis);
  std::int64_t parts = mesh.parts(std::vector<int>(axes.begin(), before));
  for (auto factor = dim.begin(); factor + 1 != dim.end(); ++factor) {
    const std::int64_t size = size_of(rule, *factor);
    if (size < 1 || parts < size || parts % size != 0) return *factor;
    parts /= size;
  }
  return dim.back();
}

void add_axes(const DimRule& rule, const DimRule::Dim& dim, const std::vector<int>& axes,
              const Mesh& mesh, FactorAxes& result) {
  for (const int axis : axes) {
    const int factor = factor_of_axis(rule, dim, axes, axis, mesh);
    if (factor >= 0) result[static_cast<std::size_t>(factor)].push_back(axis);
  }
}

std::vector<int> axes_of(const DimRule::Dim& dim, const FactorAxes& axes) {
  std::vector<int> result;
  for (const int factor : dim) {
    const std::vector<int>& more = axes[static_cast<std::size_t>(factor)];
    result.insert(result.end(), more.begin(), more.end());
  }
  return result;
}

bool is_legal(const DimRule& rule, const FactorAxes& axes, const Mesh& mesh) {
  for (std::size_t f = 0; f < axes.size(); ++f) {
    if (rule.factors[f].whole && !axes[f].empty()) return false;
  }
  return all_merged(rule, [&](const DimRule::Dim& dim) {
    bool are_single = true;  // the elements of the factors so far
    for (const int factor : dim) {
      const std::int64_t size = size_of(rule, factor);
      const std::int64_t parts = mesh.parts(axes[static_cast<std::size_t>(factor)]);
      if (parts > 1 && !are_single) return false;
      if (factor != dim.back() && size % parts != 0) return false;
      are_single = are_single && parts == size;
    }
    return true;
  });
}

bool may_shard(const DimRule& rule, int factor, int axis, const Mesh& mesh) {
  if (rule.factors[static_cast<std::size_t>(factor)].whole) return false;
  const std::int64_t size = size_of(rule, factor);
  return all_merged(rule, [&](const DimRule::Dim& dim) {
    return dim.back() == factor || std::find(dim.begin(), dim.end(), factor) == dim.end() ||
           size % mesh.parts(std::vector<int>{axis}) == 0;
  });
}

}  // namespace meshwork
