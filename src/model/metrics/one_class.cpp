#include "model/metrics/one_class.h"

#include "ops/ops.h"

namespace meshwork::metrics {

std::optional<std::int64_t> read_class_id(config::Reader& args) {
  return args.get_integer("class_id", config::between(-1'000'000, 1'000'000));
}

Matched match_class(const Comparison& c, std::optional<std::int64_t> class_id) {
  const Matched all = match_shapes(c);
  if (!class_id) return all;
  const Shape& shape = c.b.shape(all.predictions);
  if (*class_id < -shape.back() || *class_id >= shape.back()) {
    fail_at(c.at, "{}: class_id is {}, and the last dimension of the predictions is {}", c.what,
            *class_id, shape.back());
  }
  const auto axis = static_cast<std::int64_t>(shape.size()) - 1;
  const std::int64_t start = *class_id < 0 ? *class_id + shape.back() : *class_id;
  const auto part = [&](ValueId x) {
    return c.b.add(ops::kSlice, {x}, {{"axis", axis}, {"start", start}, {"size", std::int64_t{1}}});
  };
  return {part(all.labels), part(all.predictions)};
}

}  // namespace meshwork::metrics
