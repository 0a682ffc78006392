#include "support/shared_case.h"

#include <optional>
#include <utility>

#include "base/bfloat16.h"
#include "base/float16.h"
#include "graph/dim_rule.h"

namespace meshwork {
namespace {

/// Where a factor is cut: dimensions of the operands and of the result, -1 where it does not stand,
/// and what is needed of an operand of which windows are read.
struct Cut {
  std::vector<int> inputs;
  std::vector<std::optional<Reach>> reaches;
  int output = -1;
  bool possible = true;
};

Cut cut_of(const OpDef& op, const OpArgs& args, const DimRule& rule, int factor) {
  const bool odd = rule.factors[static_cast<std::size_t>(factor)].size % 2 != 0;
  Cut result;
  const auto dim = [&](const DimRule::Operand& operand) {
    const int d = DimRule::dim_of(operand, factor);
    const bool merged = d >= 0 && operand[static_cast<std::size_t>(d)].size() > 1;
    // Inside a merged dimension only equal parts of its first factor are contiguous blocks.
    if ((d < 0 && DimRule::contains(operand, factor)) || (merged && odd)) result.possible = false;
    return d;
  };
  for (std::size_t i = 0; i < rule.inputs.size(); ++i) {
    const int d = dim(rule.inputs[i]);
    result.inputs.push_back(d);
    const auto of_dim = static_cast<std::size_t>(d);
    result.reaches.emplace_back();
    if (d >= 0 && rule.reaches[i][of_dim]) result.reaches.back() = op.reach(args, i, of_dim);
  }
  result.output = dim(rule.output);
  return result;
}

/// Offset and extent on one device of a dimension of `extent` elements, of whose factor of `size`
/// elements the device holds those from `begin` to `end`.
std::pair<std::int64_t, std::int64_t> held(std::int64_t extent, std::int64_t size,
                                           std::int64_t begin, std::int64_t end) {
  const std::int64_t minor = size == 0 ? 0 : extent / size;
  return {begin * minor, (end - begin) * minor};
}

/// Of the device that holds the elements of the factor from `begin` to `end`.
DeviceCall device_call(const OpCase& op_case, const std::vector<HostTensor>& inputs,
                       const Cut& where, std::int64_t size, std::int64_t begin, std::int64_t end) {
  DeviceCall call{{}, op_case.output, whole_region(op_case.output.shape)};
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const auto d = static_cast<std::size_t>(where.inputs[i]);
    if (where.inputs[i] < 0) {
      call.inputs.push_back(whole_part(inputs[i]));
    } else if (where.reaches[i]) {
      const Interval need = where.reaches[i]->of({begin, end}, inputs[i].type.shape[d]);
      call.inputs.push_back(part_of(inputs[i], d, need.begin, need.size()));
    } else {
      const auto [offset, extent] = held(inputs[i].type.shape[d], size, begin, end);
      call.inputs.push_back(part_of(inputs[i], d, offset, extent));
    }
  }
  if (where.output >= 0) {
    const auto d = static_cast<std::size_t>(where.output);
    const auto [offset, extent] = held(call.output.shape[d], size, begin, end);
    call.region.offset[d] = offset;
    call.output.shape[d] = extent;
  }
  return call;
}

}  // namespace

std::vector<SharedCase> shared_cases(const OpCase& op_case, const std::vector<HostTensor>& inputs) {
  std::vector<TensorType> types;
  for (const CaseInput& operand : op_case.inputs) types.push_back(operand.type);
  const OpArgs args{types, op_case.attrs, op_case.output};
  const std::string text = op_case.op->rule(args);
  const DimRule rule = parse_rule(text, types, op_case.output);
  std::vector<SharedCase> cases;
  for (std::size_t f = 0; f < rule.factors.size(); ++f) {
    const std::int64_t size = rule.factors[f].size;
    const Cut where = cut_of(*op_case.op, args, rule, static_cast<int>(f));
    if (rule.factors[f].whole || !where.possible) continue;
    for (const std::int64_t first : {(size + 1) / 2, size}) {
      cases.push_back({text + " cut at " + rule.factors[f].name,
                       where.output < 0,
                       {device_call(op_case, inputs, where, size, 0, first),
                        device_call(op_case, inputs, where, size, first, size)}});
    }
  }
  return cases;
}

HostTensor in_dtype(const HostTensor& from, DType dtype) {
  if (from.type.dtype == dtype) return from;
  HostTensor to = host_tensor(TensorType{dtype, from.type.shape});
  const std::vector<double> values = to_doubles(from);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto value = static_cast<float>(values[i]);
    if (dtype == DType::kBFloat16) {
      to.as<BFloat16>()[i] = BFloat16(value);
    } else if (dtype == DType::kFloat16) {
      to.as<Float16>()[i] = Float16(value);
    } else {
      to.as<float>()[i] = value;
    }
  }
  return to;
}

bool has_kernel(const OpDef& op) {
  return op.collective == Collective::kNone && op.name != "input" && op.name != "samples" &&
         op.name != "variable";
}

}  // namespace meshwork
