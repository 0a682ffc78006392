// y = scale x + offset, each of them one number, or a list of numbers or of such lists, which
// broadcasts to a sample from its last dimension on
#include "model/arguments.h"
#include "model/layers/layer.h"
#include "model/layers/numbers.h"
#include "ops/ops.h"

namespace meshwork::layers {
namespace {

/// Whether numbers of this shape broadcast to all samples of a batch alike.
bool fits(const Shape& numbers, const Shape& x) {
  if (numbers.size() > x.size()) return false;
  const std::size_t before = x.size() - numbers.size();
  for (std::size_t d = 0; d < numbers.size(); ++d) {
    const bool is_batch = before + d == 0;
    if (numbers[d] != 1 && (is_batch || numbers[d] != x[before + d])) return false;
  }
  return true;
}

/// What broadcasts to x.
ValueId factors(GraphBuilder& b, const config::Reader& args, const config::Value& given,
                const char* key, ValueId x) {
  const Numbers numbers = read_numbers(args, key, given);
  if (!fits(numbers.shape, b.shape(x))) {
    fail_at(given.at,
            "{}: {} has shape {} for samples {}; give one number, one for each channel, or what "
            "broadcasts to a sample",
            args.what(), key, to_string(numbers.shape), sample_shape(b.shape(x)));
  }
  return constants(b, numbers, x);
}

ValueId build(Scope& scope, config::Reader& args, std::span<const ValueId> inputs) {
  GraphBuilder& b = scope.builder();
  const ValueId x = inputs[0];
  const ValueId y = ops::multiply(b, x, factors(b, args, args.require("scale"), "scale", x));
  const config::Value* const offset = args.find("offset");
  const bool is_zero = offset == nullptr || (offset->is_real() && offset->as_real("offset") == 0);
  return is_zero ? y : ops::add(b, y, factors(b, args, *offset, "offset", x));
}

}  // namespace

const LayerDef kRescaling{.names = {"Rescaling"},
                          .build = build,
                          .passes_mask = true,
                          .written_defaults = {{"offset", 0.0}}};

}  // namespace meshwork::layers
