#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/shape.h"

namespace meshwork::testing {

/// Extents by the name of the factor.
using Extents = std::map<std::string, std::int64_t>;

/// An einsum of two operands: their factors, those of the result, and the extents of all.
struct EquationCase {
  std::string x, w, y;
  Extents extents;

  std::string equation() const { return x + ", " + w + " -> " + y; }
  /// Of the operand or result with these factors.
  Shape shape(const std::string& factors) const;
};

/// A layer and its two gradients.
std::vector<EquationCase> with_gradients(const std::string& x, const std::string& w,
                                         const std::string& y, const Extents& extents);

void append(std::vector<EquationCase>& cases, const std::vector<EquationCase>& more);

/// Products of all kinds, small ones: of matrices, stacks, vectors and scalars, transposed, with
/// factors that do not merge, that one operand alone has, or without elements.
std::vector<EquationCase> equation_cases();

}  // namespace meshwork::testing
