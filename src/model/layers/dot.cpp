// y[.., ..] = sum over k of x1[.., k, ..] x2[.., k, ..] for each sample, of lengths of 1 if
// `normalize`
#include <array>

#include "model/arguments.h"
#include "model/epsilon.h"
#include "model/layers/layer.h"
#include "model/unit_length.h"
#include "ops/ops.h"

namespace meshwork::layers {
namespace {

/// The dimension of each input that is summed over.
std::array<std::int64_t, 2> read_both(config::Reader& args, const GraphBuilder& b,
                                      std::span<const ValueId> inputs) {
  const config::Value& given = args.require("axes");
  if (given.is_list() && given.list.size() != 2) {
    fail_at(given.at, "{}: axes has {} numbers; give one, or one for each of the two inputs",
            args.what(), given.list.size());
  }
  std::array<std::int64_t, 2> axes{};
  for (std::size_t i = 0; i < 2; ++i) {
    const config::Value& axis = given.is_list() ? given.list[i] : given;
    axes[i] = read_sample_axis(args.what(), args.at(), &axis, b.shape(inputs[i]).size());
  }
  return axes;
}

/// "batch x1 k", and what is left without k added to `rest`.
std::string names(std::size_t rank, std::int64_t axis, char letter, std::string& rest) {
  std::string all = "batch";
  for (std::size_t d = 1; d < rank; ++d) {
    const bool is_summed = static_cast<std::int64_t>(d) == axis;
    const std::string name = is_summed ? " k" : fmt::format(" {}{}", letter, d);
    all += name;
    if (!is_summed) rest += name;
  }
  return all;
}

ValueId build(Scope& scope, config::Reader& args, std::span<const ValueId> inputs) {
  GraphBuilder& b = scope.builder();
  std::array<ValueId, 2> x{inputs[0], inputs[1]};
  const std::array<std::int64_t, 2> axes = read_both(args, b, inputs);
  const Shape left = b.shape(x[0]), right = b.shape(x[1]);
  if (left[static_cast<std::size_t>(axes[0])] != right[static_cast<std::size_t>(axes[1])]) {
    fail_at(args.at(), "{}: samples {} and {} differ along axes {} and {}", args.what(),
            sample_shape(left), sample_shape(right), axes[0], axes[1]);
  }
  if (args.get("normalize", false)) {
    for (std::size_t i = 0; i < 2; ++i) x[i] = to_unit_length(b, x[i], {axes[i]}, kEpsilon);
  }
  std::string result = "batch";
  const std::string first = names(left.size(), axes[0], 'x', result);
  const std::string second = names(right.size(), axes[1], 'y', result);
  const ValueId y = ops::einsum(b, x[0], x[1], fmt::format("{}, {} -> {}", first, second, result));
  return b.shape(y).size() == 1 ? ops::reshape(b, y, {left[0], 1}) : y;
}

}  // namespace

const LayerDef kDot{.names = {"Dot"}, .build = build, .min_inputs = 2, .max_inputs = 2};

}  // namespace meshwork::layers
