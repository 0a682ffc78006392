#pragma once

#include <string>
#include <vector>

namespace meshwork {

/// The text of an einsum equation, by tensor: "m k, k n -> m n" is {"m k", "k n", "m n"}.
struct EquationText {
  std::string x, w, y;
};

/// A text without a comma and an arrow is a broken invariant.
EquationText split_equation(const std::string& text);

/// The factors of a tensor: of "m k" m and k.
std::vector<std::string> factor_names(const std::string& operand);

bool has_factor(const std::string& operand, const std::string& name);

}  // namespace meshwork
