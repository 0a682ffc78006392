#include "ops/crossentropy_rule.h"

#include "base/check.h"
#include "base/error.h"
#include "graph/dim_rule.h"
#include "ops/rule_text.h"

namespace meshwork::ops {

Shape check_labels(const OpArgs& args) {
  MW_CHECK(args.inputs.size() >= 2 && is_floating(args.inputs[0].dtype) &&
           args.inputs[1].dtype == DType::kInt32);
  const Shape& x = args.inputs[0].shape;
  const Shape& labels = args.inputs[1].shape;
  if (x.empty() || Shape(x.begin(), x.end() - 1) != labels) {
    fail("no crossentropy of {} and labels {}: they need all its dimensions but the last",
         to_string(x), to_string(labels));
  }
  return labels;
}

CrossentropyTexts crossentropy_texts(const OpArgs& args) {
  const std::size_t rank = args.inputs[1].shape.size();
  return {whole_axis(rank + 1, rank, rank), factor_names(rank)};
}

}  // namespace meshwork::ops
