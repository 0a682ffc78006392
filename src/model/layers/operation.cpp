#include "model/layers/operation.h"

#include "model/arguments.h"

namespace meshwork::layers {

ValueId to_real(Scope& scope, ValueId x) {
  const DType dtype = scope.builder().type(x).dtype;
  return is_floating(dtype) ? x : scope.cast(x, DType::kFloat32);
}

ValueId give(Scope& scope, config::Reader& args, ValueId y) {
  for (const std::string_view key : {"dtype", "activity_regularizer"}) {
    const config::Value* const given = args.find(key);
    if (given == nullptr) continue;
    fail_at(given->at, "{}: Keras's operations have no '{}'; give it to a layer before or behind",
            args.what(), key);
  }
  scope.set_output_dtype(scope.builder().type(y).dtype);
  return y;
}

std::vector<std::int64_t> require_sample_axes(config::Reader& args, std::size_t rank) {
  if (args.find("axis") == nullptr && rank > 1) {
    fail_at(args.at(),
            "{}: without an axis it would go over the batch, too; give 1 to {}, or -1 for the "
            "last, or a list of these",
            args.what(), rank - 1);
  }
  return read_sample_axes(args, rank);
}

}  // namespace meshwork::layers
