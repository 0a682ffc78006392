#include "backend/equation.h"

#include <algorithm>

#include "base/check.h"
#include "graph/equation_text.h"

namespace meshwork {
namespace {

Factor& factor_named(std::vector<Factor>& factors, const std::string& name) {
  const auto found = std::find_if(factors.begin(), factors.end(),
                                  [&](const Factor& factor) { return factor.name == name; });
  if (found != factors.end()) return *found;
  factors.push_back({.name = name});
  return factors.back();
}

/// Row-major strides that are never zero.
Shape positive_strides(const Shape& shape) {
  Shape strides(shape.size(), 1);
  for (std::size_t d = shape.size(); d-- > 1;) {
    strides[d - 1] = strides[d] * std::max<std::int64_t>(shape[d], 1);
  }
  return strides;
}

void add_operand(std::vector<Factor>& factors, const std::vector<std::string>& names,
                 const Shape& shape, std::int64_t Factor::*stride) {
  MW_CHECK(names.size() == shape.size(), "{} factors for {}", names.size(), to_string(shape));
  const Shape strides = positive_strides(shape);
  for (std::size_t d = 0; d < names.size(); ++d) {
    Factor& factor = factor_named(factors, names[d]);
    MW_CHECK(factor.*stride == 0, "factor '{}' twice in one tensor", names[d]);
    MW_CHECK(factor.x_stride == 0 || factor.extent == shape[d], "factor '{}' is {} and {}",
             names[d], factor.extent, shape[d]);
    factor.extent = shape[d];
    factor.*stride = strides[d];
  }
}

}  // namespace

Equation parse_equation(std::string_view text, const Shape& x, const Shape& w) {
  const EquationText names = split_equation(std::string(text));
  const auto y_names = factor_names(names.y);
  Equation equation;
  for (const std::string& name : y_names) factor_named(equation.factors, name);
  add_operand(equation.factors, factor_names(names.x), x, &Factor::x_stride);
  add_operand(equation.factors, factor_names(names.w), w, &Factor::w_stride);
  MW_CHECK(std::all_of(equation.factors.begin(), equation.factors.end(),
                       [](const Factor& f) { return f.x_stride > 0 || f.w_stride > 0; }),
           "'{}' has a factor in the result only", text);

  Shape y;
  for (const std::string& name : y_names) y.push_back(factor_named(equation.factors, name).extent);
  const Shape strides = positive_strides(y);
  for (std::size_t d = 0; d < y_names.size(); ++d) {
    Factor& factor = factor_named(equation.factors, y_names[d]);
    MW_CHECK(factor.y_stride == 0, "factor '{}' twice in one tensor", y_names[d]);
    factor.y_stride = strides[d];
  }
  return equation;
}

}  // namespace meshwork
