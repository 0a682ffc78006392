#include <algorithm>
#include <array>
#include <vector>

#include "base/check.h"
#include "base/error.h"
#include "ops/attention.h"
#include "ops/ops.h"

namespace meshwork::ops {
namespace {

void expect(const OpArgs& args, std::size_t operand, DType dtype, const Shape& shape) {
  const TensorType& type = args.inputs[operand];
  MW_CHECK((type == TensorType{dtype, shape}), "operand {} of attention is {}", operand,
           to_string(type));
}

/// [b, t, g, r, last] of the query's shape.
Shape with_last(Shape query, std::int64_t last) {
  query.back() = last;
  return query;
}

void check_mask(const Shape& mask, const Shape& weights) {
  MW_CHECK(mask.size() == weights.size() && mask.back() == weights.back(), "a mask {} of {}",
           to_string(mask), to_string(weights));
  for (std::size_t d = 0; d < mask.size(); ++d) {
    if (mask[d] == 1 || mask[d] == weights[d]) continue;
    fail("a mask {} does not fit attention of {}: dimension {} is {} and {}", to_string(mask),
         to_string(weights), d, mask[d], weights[d]);
  }
}

}  // namespace

bool is_attention_gradient(const Node& node) {
  return node.op == &kAttentionQueryGradient || node.op == &kAttentionKeyGradient ||
         node.op == &kAttentionValueGradient;
}

void check_attention(const OpArgs& args, std::size_t fixed) {
  MW_CHECK(args.inputs.size() >= fixed);
  const DType dtype = args.inputs[0].dtype;
  const Shape& q = args.inputs[0].shape;
  const Shape& k = args.inputs[1].shape;
  MW_CHECK(q.size() == 5 && k.size() == 4);
  const Shape keys{q[0], k[1], q[2], q[4]};
  if (k != keys) {
    fail("no attention of queries {} and keys {}: they need as many samples, heads and features",
         to_string(q), to_string(k));
  }
  expect(args, 1, dtype, keys);
  const Shape lines(q.begin(), q.end() - 1);
  const Shape& v = args.inputs[2].shape;
  MW_CHECK(v.size() == 4);
  if (Shape(v.begin(), v.end() - 1) != Shape(k.begin(), k.end() - 1)) {
    fail("no attention of keys {} and values {}: they need as many samples, places and heads",
         to_string(k), to_string(v));
  }
  expect(args, 2, dtype, v);
  if (fixed == kAttentionGradientOperands) {
    expect(args, 3, dtype, with_last(q, v.back()));
    const AttentionOptions options = attention_options(args.attrs);
    expect(args, kAttentionLogSumOperand, DType::kFloat32, log_sum_shape(q, options.by_head));
    if (options.with_result) {
      expect(args, kAttentionDeltaOperand, dtype, with_last(q, v.back()));
    } else {
      expect(args, kAttentionDeltaOperand, DType::kFloat32, lines);
    }
  }
  const AttentionExtras extras = attention_extras(fixed, args.inputs.size(), args.attrs);
  if (extras.mask) {
    MW_CHECK(args.inputs[*extras.mask].dtype == DType::kFloat32);
    check_mask(args.inputs[*extras.mask].shape, with_last(q, k[1]));
  }
  if (extras.step) expect(args, *extras.step, DType::kInt64, {});
  if (extras.shift) expect(args, *extras.shift, DType::kInt32, {q[0]});
  if (extras.key_segments) {
    expect(args, *extras.query_segments, DType::kInt32, {q[0], q[1]});
    expect(args, *extras.key_segments, DType::kInt32, {q[0], k[1]});
  }
}

std::string log_sum_rule(bool by_head) { return by_head ? "b g r t" : "b t g r"; }

std::string attention_rule(const OpArgs& args, std::size_t fixed, const std::string& keys,
                           const std::string& result) {
  std::string text = "b t g r [d], b " + keys + " g [d], b " + keys + " g [e]";
  if (fixed == kAttentionGradientOperands) {
    const AttentionOptions options = attention_options(args.attrs);
    text += ", b t g r [e], " + log_sum_rule(options.by_head) + ", b t g r";
    if (options.with_result) text += " [e]";
  }
  const AttentionExtras extras = attention_extras(fixed, args.inputs.size(), args.attrs);
  if (extras.mask) {
    const Shape& mask = args.inputs[*extras.mask].shape;
    const Shape& q = args.inputs[0].shape;
    constexpr std::array kNames{"b", "t", "g", "r"};
    text += ",";
    for (std::size_t d = 0; d < kNames.size(); ++d) {
      text += mask[d] == q[d] ? std::string(" ") + kNames[d] : " 1";
    }
    text += " " + keys;
  }
  if (extras.step) text += ",";
  if (extras.shift) text += ", b";
  if (extras.key_segments) text += ", b t, b " + keys;
  return text + " -> " + result;
}

double attention_flops(const OpArgs& args, double products) {
  const AttentionOptions options = attention_options(args.attrs);
  const auto queries = static_cast<double>(num_elements(args.inputs[0].shape));
  const auto keys = static_cast<double>(args.inputs[1].shape[1]);
  const double window = options.window > 0 ? static_cast<double>(options.window) : keys;
  const double reach = std::min(window, keys);
  // What a query sees on one side, on average: less near the end.
  const double seen = keys > 0 ? reach - reach * reach / (2 * keys) : 0;
  return 2 * products * queries * (options.causal ? seen : 2 * seen);
}

}  // namespace meshwork::ops
