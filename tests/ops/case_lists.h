#pragma once

#include <string>
#include <vector>

#include "ops/cases.h"
#include "ops/ops.h"

namespace meshwork {

CaseInput uniform(Shape shape, double low = -1, double high = 1);
CaseInput distinct(Shape shape);
CaseInput integers(DType dtype, Shape shape, double low, double high);

TensorType float32(Shape shape);

/// A case called after its op, operands and attributes.
OpCase make_case(const OpDef& op, std::vector<CaseInput> inputs, Attrs attrs, TensorType output,
                 std::vector<std::size_t> differentiable = {});

/// What the op of a case infers of operands of these types.
TensorType inferred(const OpCase& op_case, const std::vector<TensorType>& inputs);

/// Parts of op_cases().
std::vector<OpCase> elementwise_cases();
std::vector<OpCase> reduce_cases();
std::vector<OpCase> movement_cases();
std::vector<OpCase> window_cases();
std::vector<OpCase> attention_cases();
std::vector<OpCase> expert_cases();

}  // namespace meshwork
