// y = (x - mean) / sqrt(variance), or back: `axis` keeps the dimensions that have numbers of their
// own. Without numbers in the file both are weights, which fit begins with those of its data.
#include <algorithm>
#include <cmath>

#include "model/arguments.h"
#include "model/epsilon.h"
#include "model/layers/layer.h"
#include "model/layers/numbers.h"
#include "ops/ops.h"

namespace meshwork::layers {
namespace {

/// Both broadcast to x.
struct Moments {
  ValueId mean = kNoValue;
  ValueId variance = kNoValue;
};

/// Dimensions with numbers of their own, in order; none where Keras says None, or stores [] for it.
std::vector<std::int64_t> kept_axes(config::Reader& args, const Shape& x) {
  const config::Value* const given = args.find("axis");
  const bool is_empty = given != nullptr && given->is_list() && given->list.empty();
  if (is_empty || is_null(args, "axis")) return {};
  return read_sample_axes(args, x.size());
}

/// x's shape, with 1 where a dimension is not kept.
Shape spread_shape(const Shape& x, const std::vector<std::int64_t>& kept) {
  Shape shape(x.size(), 1);
  for (const std::int64_t d : kept) {
    shape[static_cast<std::size_t>(d)] = x[static_cast<std::size_t>(d)];
  }
  return shape;
}

/// Numbers of the file, their last dimension for the last one that is kept, and so on.
ValueId given_moment(GraphBuilder& b, const config::Reader& args, const char* key,
                     const config::Value& given, ValueId x, const std::vector<std::int64_t>& kept) {
  const Numbers numbers = read_numbers(args, key, given);
  const Shape extents = b.shape(x);
  Shape shape(extents.size(), 1);
  bool fits = numbers.shape.size() <= kept.size();
  for (std::size_t i = 1; fits && i <= numbers.shape.size(); ++i) {
    const auto d = static_cast<std::size_t>(kept[kept.size() - i]);
    shape[d] = numbers.shape[numbers.shape.size() - i];
    fits = shape[d] == 1 || shape[d] == extents[d];
  }
  if (!fits) {
    fail_at(given.at,
            "{}: {} has shape {} for samples {}; give one number, or one for each place along "
            "'axis'",
            args.what(), key, to_string(numbers.shape), sample_shape(extents));
  }
  const auto is_negative = [](double number) { return number < 0; };
  if (key == std::string_view("variance") && std::ranges::any_of(numbers.all, is_negative)) {
    fail_at(given.at, "{}: variance has a number below 0; give squares of deviations", args.what());
  }
  const ValueId values = constants(b, numbers, x);
  return numbers.shape.empty() ? values : ops::reshape(b, values, shape);
}

/// The input of the model or the layer output that x is, before it was cast; "": neither.
std::string name_of(const Graph& graph, ValueId x) {
  while (graph.node(x).op == &ops::kCast) x = graph.node(x).inputs[0];
  const auto is_x = [&](const NamedValue& output) { return output.value == x; };
  const auto found = std::ranges::find_if(graph.layer_outputs, is_x);
  return found == graph.layer_outputs.end() ? "" : found->name;
}

/// Weights that Keras's adapt() sets. What it counts beside them it only ever stores.
Moments adapted_moments(Scope& scope, ValueId x, const std::vector<std::int64_t>& kept) {
  GraphBuilder& b = scope.builder();
  const Shape spread = spread_shape(b.shape(x), kept);
  Shape shape;
  for (const std::int64_t d : kept) shape.push_back(spread[static_cast<std::size_t>(d)]);
  const ValueId mean = scope.non_trainable("mean", shape, read_initializer("zeros"));
  const ValueId variance = scope.non_trainable("variance", shape, read_initializer("ones"));
  scope.keep_count("count");
  const std::string of = name_of(b.graph(), x);
  scope.begin_as(mean, {Statistic::kMean, of, kept});
  scope.begin_as(variance, {Statistic::kVariance, of, kept});
  const DType dtype = b.type(x).dtype;
  return {ops::reshape(b, scope.cast(mean, dtype), spread),
          ops::reshape(b, scope.cast(variance, dtype), spread)};
}

Moments moments_of(Scope& scope, config::Reader& args, ValueId x) {
  const config::Value* const mean = args.find("mean");
  const config::Value* const variance = args.find("variance");
  const std::vector<std::int64_t> kept = kept_axes(args, scope.builder().shape(x));
  if (mean == nullptr && variance == nullptr) return adapted_moments(scope, x, kept);
  if (mean == nullptr || variance == nullptr) {
    fail_at(args.at(), "{}: there is a {} without a {}; give both, or neither", args.what(),
            mean == nullptr ? "variance" : "mean", mean == nullptr ? "mean" : "variance");
  }
  return {given_moment(scope.builder(), args, "mean", *mean, x, kept),
          given_moment(scope.builder(), args, "variance", *variance, x, kept)};
}

ValueId build(Scope& scope, config::Reader& args, std::span<const ValueId> inputs) {
  GraphBuilder& b = scope.builder();
  const ValueId x = inputs[0];
  const Moments moments = moments_of(scope, args, x);
  const ValueId deviation = ops::maximum(b, ops::sqrt(b, moments.variance),
                                         ops::constant_like(b, kEpsilon, moments.variance));
  if (args.get("invert", false)) return ops::add(b, moments.mean, ops::multiply(b, x, deviation));
  return ops::divide(b, ops::subtract(b, x, moments.mean), deviation);
}

}  // namespace

const LayerDef kNormalization{.names = {"Normalization"}, .build = build, .passes_mask = true};

}  // namespace meshwork::layers
