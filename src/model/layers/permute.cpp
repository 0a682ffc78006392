// [batch, a, b, ..] -> the dimensions of a sample in another order, counted from 1
#include <algorithm>

#include "model/arguments.h"
#include "model/layers/layer.h"
#include "ops/ops.h"

namespace meshwork::layers {
namespace {

ValueId build(Scope& scope, config::Reader& args, std::span<const ValueId> inputs) {
  GraphBuilder& b = scope.builder();
  const Shape& shape = b.shape(inputs[0]);
  const config::Value& given = args.require("dims");
  std::vector<std::int64_t> dims = given.as_shape("dims");
  std::vector<std::int64_t> sorted = dims;
  std::sort(sorted.begin(), sorted.end());
  std::vector<std::int64_t> all;
  for (std::size_t d = 1; d < shape.size(); ++d) all.push_back(static_cast<std::int64_t>(d));
  if (sorted != all) {
    fail_at(given.at, "{}: dims {} must name each dimension of {} once, counted from 1",
            args.what(), to_string(dims), sample_shape(shape));
  }
  dims.insert(dims.begin(), 0);
  return ops::transpose(b, inputs[0], std::move(dims));
}

}  // namespace

const LayerDef kPermute{.names = {"Permute"}, .build = build};

}  // namespace meshwork::layers
