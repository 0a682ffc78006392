#include "ops/reduce.h"

#include <algorithm>

#include "base/check.h"
#include "graph/dim_rule.h"
#include "ops/result_dtype.h"
#include "ops/rule_text.h"

namespace meshwork::ops {
namespace {

bool is_reduced(const Attrs& attrs, std::size_t dim) {
  const auto& axes = attrs.integers("axes");
  return std::find(axes.begin(), axes.end(), static_cast<std::int64_t>(dim)) != axes.end();
}

}  // namespace

TensorType infer_reduce(const OpArgs& args) {
  MW_CHECK(args.inputs.size() == 1);
  const Shape& shape = args.inputs[0].shape;
  for (const std::int64_t axis : args.attrs.integers("axes")) {
    MW_CHECK(axis >= 0 && axis < static_cast<std::int64_t>(shape.size()), "axis {} of {}", axis,
             to_string(shape));
  }
  TensorType result{result_dtype(args), {}};
  for (std::size_t d = 0; d < shape.size(); ++d) {
    if (!is_reduced(args.attrs, d)) {
      result.shape.push_back(shape[d]);
    } else if (args.attrs.flag("keepdims")) {
      result.shape.push_back(1);
    }
  }
  return result;
}

std::string reduce_rule(const OpArgs& args) {
  const std::size_t rank = args.inputs[0].shape.size();
  std::string right;
  for (std::size_t d = 0; d < rank; ++d) {
    if (!is_reduced(args.attrs, d)) {
      right += " " + factor_name(d);
    } else if (args.attrs.flag("keepdims")) {
      right += " 1";
    }
  }
  return factor_names(rank) + " ->" + right;
}

double reduce_flops(const OpArgs& args) {
  return static_cast<double>(num_elements(args.inputs[0].shape));
}

Shape kept_shape(const Shape& shape, const Attrs& attrs) {
  Shape kept = shape;
  for (std::size_t d = 0; d < shape.size(); ++d) {
    if (is_reduced(attrs, d)) kept[d] = 1;
  }
  return kept;
}

}  // namespace meshwork::ops
