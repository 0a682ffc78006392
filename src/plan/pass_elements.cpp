#include "plan/pass_elements.h"

#include "graph/fusible.h"

namespace meshwork {
namespace {

Shape of_rows(Shape shape) {
  if (!shape.empty()) shape.back() = 1;
  return shape;
}

}  // namespace

PassElements elements_of(const Graph& program, ValueId id) {
  const bool adds_rows = is_row_sum(program, id);
  const ValueId x = adds_rows ? program.node(id).inputs[0] : id;
  const Shape& global = program.global_shape(x);
  // Parts are balanced: of two elements or more either all devices have all, or none has. The one
  // element that stands for a row is wherever the row is.
  const bool has_rows =
      !global.empty() && (global.back() == 1 || program.type(x).shape.back() == global.back());
  return {global, has_rows, adds_rows};
}

std::optional<PassElements> joined(const PassElements& a, const PassElements& b) {
  const bool adds_rows = a.adds_rows || b.adds_rows;
  if (adds_rows && !(a.has_rows && b.has_rows)) return std::nullopt;
  if (a.shape == b.shape) return PassElements{a.shape, a.has_rows, adds_rows};
  if (b.adds_rows && a.shape == of_rows(b.shape)) return b;
  if (a.adds_rows && b.shape == of_rows(a.shape)) return a;
  return std::nullopt;
}

}  // namespace meshwork
