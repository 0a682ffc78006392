// factor * the mean of |r_i r_j| over all pairs of rows r, or of columns, of length 1
#include "model/epsilon.h"
#include "model/losses/loss.h"
#include "model/regularizers/regularizer.h"
#include "model/unit_length.h"
#include "ops/ops.h"

namespace meshwork::regularizers {
namespace {

ValueId penalty(GraphBuilder& b, ValueId w, bool rows, double factor) {
  const std::int64_t size = b.shape(w)[rows ? 0 : 1];
  const ValueId unit = to_unit_length(b, w, {rows ? 1 : 0}, kEpsilon);
  const ValueId products = ops::einsum(b, unit, unit, rows ? "i k,j k->i j" : "k i,k j->i j");
  const ValueId itself =
      b.add(ops::kIdentityMatrix, {}, {{"gain", 1.0}, {"shape", Shape{size, size}}});
  const ValueId others = ops::multiply(b, products, ops::one_minus(b, itself));
  const double pairs = static_cast<double>(size) * static_cast<double>(size - 1);
  return ops::scale(b, sum_all(b, ops::abs(b, others)), pairs == 0 ? 0 : factor / pairs);
}

Regularizer read(config::Reader& args) {
  const double factor = args.get("factor", 0.01, config::at_least(0));
  const bool rows = args.choose("mode", true, {{"rows", true}, {"columns", false}});
  return [=, at = args.at(), what = args.what()](GraphBuilder& b, ValueId w) {
    if (b.shape(w).size() != 2) {
      fail_at(at, "{}: it is for a variable of two dimensions, not {}", what,
              to_string(b.shape(w)));
    }
    return penalty(b, w, rows, factor);
  };
}

}  // namespace

const RegularizerDef kOrthogonal{.names = {"OrthogonalRegularizer", "orthogonal_regularizer"},
                                 .read = read};

}  // namespace meshwork::regularizers
