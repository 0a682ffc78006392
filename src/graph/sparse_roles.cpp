#include "graph/sparse_roles.h"

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "base/check.h"
#include "graph/equation_text.h"

namespace meshwork {

SparseRoles sparse_roles(const Attrs& attrs) {
  using Names = std::vector<std::string>;
  const EquationText e = split_equation(attrs.text("equation"));
  const std::array<Names, 3> tensors{factor_names(e.x), factor_names(e.w), factor_names(e.y)};
  const Names chosen = factor_names(attrs.text("chosen"));
  MW_CHECK(chosen.size() >= 2, "'{}' has no rows and experts", attrs.text("chosen"));
  const auto check = [&](bool fits) {
    MW_CHECK(fits, "'{}' where '{}' is chosen", attrs.text("equation"), attrs.text("chosen"));
  };
  const auto names_of = [&](int tensor) -> const Names& {
    return tensors[static_cast<std::size_t>(tensor)];
  };
  const auto with = [](Names names, const std::string& last) {
    names.push_back(last);
    return names;
  };
  const std::string& expert = chosen.back();
  const Names rows(chosen.begin(), chosen.end() - 1);

  // Of three tensors only the spread one has rows and experts.
  SparseRoles roles{.rows = -1, .spread = -1, .kernels = -1, .is_turned = false};
  for (int i = 0; i < 3; ++i) {
    const auto has = [&](const std::string& name) {
      return std::ranges::count(names_of(i), name) > 0;
    };
    int& role = !has(expert) ? roles.rows : has(rows.front()) ? roles.spread : roles.kernels;
    check(role == -1);
    role = i;
  }
  const Names& kernel = names_of(roles.kernels);
  check(kernel.size() == 3 && kernel[0] == expert);
  roles.is_turned = kernel[2] == names_of(roles.rows).back();
  const std::string& a = kernel[roles.is_turned ? 2 : 1];
  const std::string& b = kernel[roles.is_turned ? 1 : 2];
  check(names_of(roles.rows) == with(rows, a) && names_of(roles.spread) == with(chosen, b));
  return roles;
}

}  // namespace meshwork
