// y = attention_output(attention of each head of query(x0), key(x2 or x1) and value(x1)), all four
// of them projections with variables of their own. Inputs are [query, value, key, attention_mask,
// segments], of which all but the first two may be left out. With `use_gate`, what heads give is
// multiplied by a sigmoid of another projection of the query. GroupQueryAttention has fewer heads
// of keys than of queries.
#include <algorithm>
#include <numeric>

#include "graph/dim_rule.h"
#include "model/arguments.h"
#include "model/layers/attend.h"
#include "model/layers/masks.h"
#include "model/layers/noise.h"
#include "ops/ops.h"

namespace meshwork::layers {
namespace {

/// What both layers have, and MultiHeadAttention alone.
struct Options {
  HeadAttention attention;
  bool use_bias = true;
  bool use_gate = false;
  Initializer kernel, bias;
  std::vector<std::int64_t> axes;  ///< of the inputs, over which queries attend to keys
  Shape output;                    ///< features of the result
};

void read_common(Scope& scope, config::Reader& args, Options& options) {
  HeadAttention& attention = options.attention;
  attention.dropout = args.get("dropout", 0.0, config::between(0, 1));
  attention.stream = read_stream(scope, args);
  attention.is_causal = args.get("use_causal_mask", false);
  attention.window = args.get_integer("sliding_window", config::at_least(1)).value_or(0);
  options.use_bias = args.get("use_bias", true);
  options.use_gate = args.get("use_gate", false);
  refuse_null(args, {"kernel_initializer", "bias_initializer"});
  options.kernel = read_initializer(args, "kernel_initializer", "glorot_uniform");
  options.bias = read_initializer(args, "bias_initializer", "zeros");
  args.find("flash_attention");  // how Keras computes it: the same numbers
  refuse_arguments(args, {"activity_regularizer"});
}

/// A projection under its name: x [.., in..] by a kernel [in.., out..], with a bias [out..]. `in`:
/// how many dimensions are summed over.
ValueId project(Scope& scope, const Options& options, const std::string& name, ValueId x,
                std::size_t in, const Shape& out) {
  GraphBuilder& b = scope.builder();
  const Shape shape = b.shape(x);
  const std::size_t kept = shape.size() - in;
  Shape kernel_shape(shape.begin() + static_cast<std::ptrdiff_t>(kept), shape.end());
  const Fans fans{num_elements(kernel_shape), num_elements(out)};
  kernel_shape.insert(kernel_shape.end(), out.begin(), out.end());
  const ValueId kernel =
      scope.variable(name + "/kernel", kernel_shape, with_fans(options.kernel, fans));
  const ValueId bias = scope.optional_variable(options.use_bias, "use_bias: false", name + "/bias",
                                               out, options.bias);
  std::string summed, made;
  for (std::size_t i = 0; i < in; ++i) summed += " m" + std::to_string(i);
  for (std::size_t i = 0; i < out.size(); ++i) made += " n" + std::to_string(i);
  const std::string rows = factor_names(kept);
  const ValueId y =
      ops::einsum(b, x, kernel, rows + summed + "," + summed + made + "->" + rows + made);
  return options.use_bias ? ops::add(b, y, bias) : y;
}

/// Brings [batch, steps.., heads, width] to [batch', steps', heads, width], the axes over which
/// queries attend last and merged, the others merged with the batch; and back.
class Folding {
 public:
  Folding(const std::vector<std::int64_t>& axes, Shape shape) : shape_(std::move(shape)) {
    const auto rank = static_cast<std::int64_t>(shape_.size());
    order_.push_back(0);
    for (std::int64_t axis = 1; axis < rank - 2; ++axis) {
      if (std::find(axes.begin(), axes.end(), axis) == axes.end()) order_.push_back(axis);
    }
    for (const std::int64_t axis : order_) samples_ *= extent(axis);
    for (const std::int64_t axis : axes) steps_ *= extent(axis);
    order_.insert(order_.end(), axes.begin(), axes.end());
    order_.push_back(rank - 2);
    order_.push_back(rank - 1);
  }

  ValueId fold(GraphBuilder& b, ValueId x) const {
    const Shape shape = b.shape(x);
    return ops::reshape(b, ops::transpose(b, x, order_),
                        {samples_, steps_, shape[shape.size() - 2], shape.back()});
  }

  ValueId unfold(GraphBuilder& b, ValueId x) const {
    const Shape folded = b.shape(x);
    Shape shape;
    std::vector<std::int64_t> back(order_.size());
    for (std::size_t i = 0; i < order_.size(); ++i) {
      shape.push_back(extent(order_[i]));
      back[static_cast<std::size_t>(order_[i])] = static_cast<std::int64_t>(i);
    }
    shape[shape.size() - 2] = folded[2];
    shape.back() = folded[3];
    return ops::transpose(b, ops::reshape(b, x, std::move(shape)), back);
  }

 private:
  std::int64_t extent(std::int64_t axis) const { return shape_[static_cast<std::size_t>(axis)]; }

  Shape shape_;
  std::vector<std::int64_t> order_;
  std::int64_t samples_ = 1, steps_ = 1;
};

/// Of [.., heads, width] each, as query.
ValueId attend(Scope& scope, const config::Reader& args, const Options& options, Operands x) {
  GraphBuilder& b = scope.builder();
  const Folding queries(options.axes, b.shape(x.query)), keys(options.axes, b.shape(x.key));
  x.query = queries.fold(b, x.query);
  x.key = keys.fold(b, x.key);
  x.value = keys.fold(b, x.value);
  return queries.unfold(b, attend(scope, args, options.attention, x));
}

/// The value, where no key is given.
ValueId key_of(std::span<const ValueId> inputs) { return inputs[is_given(inputs, 2) ? 2 : 1]; }

/// Throws an Error unless query, value and key fit together.
void check_inputs(const Scope& scope, const config::Reader& args, const Options& options,
                  const GraphBuilder& b, std::span<const ValueId> inputs) {
  const Shape q = b.shape(inputs[0]), v = b.shape(inputs[1]);
  const Shape k = b.shape(key_of(inputs));
  if (q.size() < 3 || q.size() != v.size() || k.size() != v.size()) {
    fail_at(args.at(),
            "{} needs samples [steps, features] of as many dimensions, but its inputs have {}, {} "
            "and {}",
            args.what(), sample_shape(q), sample_shape(v), sample_shape(k));
  }
  if (!std::equal(v.begin(), v.end() - 1, k.begin())) {
    fail_at(args.at(), "{}: value and key have samples {} and {}; give them as many steps",
            args.what(), sample_shape(v), sample_shape(k));
  }
  for (std::size_t d = 1; d + 1 < q.size(); ++d) {
    const auto axis = static_cast<std::int64_t>(d);
    if (std::find(options.axes.begin(), options.axes.end(), axis) != options.axes.end()) continue;
    if (q[d] == v[d]) continue;
    fail_at(
        args.at(),
        "{}: axis {} is no attention axis, so query and value need one extent there, not {} and {}",
        args.what(), d, q[d], v[d]);
  }
  const bool masked = scope.mask(0) != kNoValue || scope.mask(1) != kNoValue ||
                      is_given(inputs, 3) || is_given(inputs, 4) ||
                      (is_given(inputs, 2) && scope.mask(2) != kNoValue);
  if (q.size() > 3 && (options.attention.is_causal || options.attention.window > 0 || masked)) {
    fail_at(args.at(),
            "{}: masks, segments, use_causal_mask and sliding_window are for samples [steps, "
            "features], not {}",
            args.what(), sample_shape(q));
  }
}

ValueId build(Scope& scope, const config::Reader& args, const Options& options,
              std::span<const ValueId> inputs) {
  GraphBuilder& b = scope.builder();
  check_inputs(scope, args, options, b, inputs);
  const Heads& heads = options.attention.heads;
  const ValueId query_mask = scope.mask(0);
  const ValueId query =
      project(scope, options, "query", inputs[0], 1, {heads.queries, heads.key_width});
  const ValueId key =
      project(scope, options, "key", key_of(inputs), 1, {heads.keys, heads.key_width});
  ValueId gate = kNoValue;
  if (options.use_gate) {
    gate =
        b.add(ops::kSigmoid,
              {project(scope, options, "gate", inputs[0], 1, {heads.queries, heads.value_width})});
  }
  const ValueId value =
      project(scope, options, "value", inputs[1], 1, {heads.keys, heads.value_width});
  ValueId y = attend(scope, args, options,
                     {.query = query,
                      .key = key,
                      .value = value,
                      .key_mask = read_key_mask(scope, inputs),
                      .attention_mask = is_given(inputs, 3) ? inputs[3] : kNoValue,
                      .segments = is_given(inputs, 4) ? inputs[4] : kNoValue});
  if (query_mask != kNoValue) y = where(b, query_mask, y, 0);
  if (gate != kNoValue) y = ops::multiply(b, y, gate);
  return project(scope, options, "attention_output", y, 2, options.output);
}

/// The axes 1, 2, .. before the features.
std::vector<std::int64_t> all_axes(std::size_t rank) {
  std::vector<std::int64_t> axes(rank < 2 ? 0 : rank - 2);
  std::iota(axes.begin(), axes.end(), 1);
  return axes;
}

std::vector<std::int64_t> read_attention_axes(config::Reader& args, std::size_t rank) {
  const config::Value* value = args.find("attention_axes");
  if (value == nullptr || value->is_null()) return all_axes(rank);
  std::vector<std::int64_t> axes = read_axes(value, 1, rank);
  if (axes.front() < 1 || axes.back() + 1 >= static_cast<std::int64_t>(rank)) {
    fail_at(value->at, "attention_axes must be between the batch and the features, 1 to {}",
            rank - 2);
  }
  return axes;
}

Shape read_output_shape(config::Reader& args, std::int64_t features) {
  const config::Value* value = args.find("output_shape");
  if (value == nullptr || value->is_null()) return {features};
  Shape shape;
  if (!value->is_list()) {
    shape.push_back(value->as_integer("output_shape"));
  } else {
    for (const config::Value& extent : value->list)
      shape.push_back(extent.as_integer("output_shape"));
  }
  if (shape.empty() || std::any_of(shape.begin(), shape.end(), [](auto n) { return n < 1; })) {
    fail_at(value->at, "output_shape must be an extent of 1 or more, or a list of them, not {}",
            to_string(shape));
  }
  return shape;
}

ValueId build_multi_head(Scope& scope, config::Reader& args, std::span<const ValueId> inputs) {
  const Shape query = scope.builder().shape(inputs[0]);
  Options options;
  Heads& heads = options.attention.heads;
  heads.queries = heads.keys = args.require_integer("num_heads", config::at_least(1));
  heads.key_width = args.require_integer("key_dim", config::at_least(1));
  heads.value_width = args.get_integer("value_dim", config::at_least(1)).value_or(heads.key_width);
  read_common(scope, args, options);
  options.axes = read_attention_axes(args, query.size());
  options.output = read_output_shape(args, query.back());
  return build(scope, args, options, inputs);
}

ValueId build_group_query(Scope& scope, config::Reader& args, std::span<const ValueId> inputs) {
  const Shape query = scope.builder().shape(inputs[0]);
  Options options;
  Heads& heads = options.attention.heads;
  heads.key_width = heads.value_width = args.require_integer("head_dim", config::at_least(1));
  heads.queries = args.require_integer("num_query_heads", config::at_least(1));
  heads.keys = args.require_integer("num_key_value_heads", config::at_least(1));
  if (heads.queries % heads.keys != 0) {
    fail_at(args.at(),
            "{}: num_query_heads must be a multiple of num_key_value_heads, not {} of {}",
            args.what(), heads.queries, heads.keys);
  }
  read_common(scope, args, options);
  options.axes = all_axes(query.size());
  options.output = {query.back()};
  return build(scope, args, options, inputs);
}

}  // namespace

const LayerDef kGroupQueryAttention{
    .names = {"GroupedQueryAttention", "GroupQueryAttention"},
    .build = build_group_query,
    .min_inputs = 2,
    .max_inputs = 5,
    .passes_mask = true,
    .call_arguments = {"use_causal_mask"},
    .call_inputs = {"query", "value", "key", "attention_mask", "segments"},
    .parts = {{"query", "_query_dense"},
              {"key", "_key_dense"},
              {"gate", "_gate_dense"},
              {"value", "_value_dense"},
              {"attention_output", "_output_dense"}},
    .exported_as = "GroupQueryAttention",
};

const LayerDef kMultiHeadAttention{
    .names = {"MultiHeadAttention"},
    .build = build_multi_head,
    .min_inputs = 2,
    .max_inputs = 5,
    .passes_mask = true,
    .call_arguments = {"use_causal_mask"},
    .call_inputs = {"query", "value", "key", "attention_mask", "segments"},
    .parts = {{"query", "query_dense"},
              {"key", "key_dense"},
              {"gate", "_gate_dense"},
              {"value", "value_dense"},
              {"attention_output", "output_dense"}},
};

}  // namespace meshwork::layers
