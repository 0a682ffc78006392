#include <limits>

#include "config/expand_layers.h"

namespace meshwork::config {
namespace {

Shape read_input_shape(const Value& value) {
  constexpr std::int64_t kMaxElements = std::int64_t{1} << 40;
  const Shape shape = value.as_shape("input shape");
  std::int64_t elements = 1;
  for (const std::int64_t extent : shape) {
    if (extent < 1) {
      fail_at(value.at, "input shape {} has an extent less than 1; leave out the batch dimension",
              meshwork::to_string(shape));
    }
    if (extent > std::numeric_limits<std::int32_t>::max()) {
      fail_at(value.at, "input shape {} has an extent of 2^31 or more", meshwork::to_string(shape));
    }
    if (extent > kMaxElements / elements) {
      fail_at(value.at, "input shape {} has more than 2^40 elements", meshwork::to_string(shape));
    }
    elements *= extent;
  }
  return shape;
}

}  // namespace

InputSpec read_input(const std::string& name, const Value& value, const Location& at) {
  if (!value.is_map() && !value.is_null()) {
    return {.name = name, .shape = read_input_shape(value), .at = at};
  }
  Reader reader(value, fmt::format("input '{}'", name));
  const Value* shape = reader.find("shape");
  const DType dtype = reader.choose("dtype", DType::kFloat32,
                                    {{"float32", DType::kFloat32}, {"int32", DType::kInt32}});
  reader.finish();
  return {name, read_input_shape(shape != nullptr ? *shape : reader.require("shape")), dtype, at};
}

}  // namespace meshwork::config
