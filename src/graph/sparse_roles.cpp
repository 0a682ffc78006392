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
  const std::string& expert = chosen.back();
  const Names rows(chosen.begin(), chosen.end() - 1);

  // Of three tensors only the spread one has rows and experts.
  SparseRoles roles{.rows = -1, .spread = -1, .kernels = -1, .is_turned = false};
  for (int i = 0; i < 3; ++i) {
    const Names& names = tensors[static_cast<std::size_t>(i)];
    const bool has_expert = std::ranges::find(names, expert) != names.end();
    const bool has_rows = std::ranges::find(names, rows.front()) != names.end();
    int& role = !has_expert ? roles.rows : has_rows ? roles.spread : roles.kernels;
    MW_CHECK(role == -1, "'{}' where '{}' is chosen", attrs.text("equation"), attrs.text("chosen"));
    role = i;
  }
  const Names& row = tensors[static_cast<std::size_t>(roles.rows)];
  const Names& kernel = tensors[static_cast<std::size_t>(roles.kernels)];
  Names of_rows = rows, of_spread = chosen;
  of_rows.push_back(row.back());
  MW_CHECK(row == of_rows && kernel.size() == 3 && kernel.front() == expert,
           "'{}' where '{}' is chosen", attrs.text("equation"), attrs.text("chosen"));
  roles.is_turned = kernel[2] == row.back();
  of_spread.push_back(kernel[roles.is_turned ? 1 : 2]);
  MW_CHECK(tensors[static_cast<std::size_t>(roles.spread)] == of_spread &&
               (roles.is_turned || kernel[1] == row.back()),
           "'{}' where '{}' is chosen", attrs.text("equation"), attrs.text("chosen"));
  return roles;
}

}  // namespace meshwork
