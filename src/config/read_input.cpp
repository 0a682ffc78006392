#include <limits>

#include "config/expand_layers.h"

namespace meshwork::config {
namespace {

Shape read_input_shape(const Value& value) {
  constexpr std::int64_t kMaxElements = std::int64_t{1} << 40;
  for (const Value& extent : value.list) {
    if (!extent.is_null()) continue;
    fail_at(extent.at,
            "input shape: an extent is left open, but all samples have one length here; give it, "
            "and pad the samples to it (leave out the batch dimension)");
  }
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

/// The shape of a sample, of what Keras's get_config() says of an input: [null, 28, 28, 1].
Value without_batch(const Value& batch_shape) {
  const bool is_open =
      batch_shape.is_list() && !batch_shape.list.empty() && batch_shape.list[0].is_null();
  if (!is_open) {
    fail_at(batch_shape.at,
            "batch_shape must begin with null: the batch size is that of fit; or give 'shape', "
            "that of a sample");
  }
  Value shape = batch_shape;
  shape.list.erase(shape.list.begin());
  return shape;
}

/// What else get_config() says of it, which says nothing where it is false.
void refuse_kinds(Reader& reader) {
  for (const std::string_view key : {"sparse", "ragged", "optional"}) {
    const Value* value = reader.find(key);
    if (value == nullptr || !value->as_bool(key)) continue;
    fail_at(value->at, "{}: '{}' is not supported; leave it out", reader.what(), key);
  }
}

}  // namespace

InputSpec read_input(const std::string& name, const Value& value, const Location& at) {
  if (!value.is_map() && !value.is_null()) {
    return {.name = name, .shape = read_input_shape(value), .at = at};
  }
  Reader reader(value, fmt::format("input '{}'", name));
  const Value* batch_shape = reader.find("batch_shape");
  const Value* shape = reader.find("shape");
  if (batch_shape != nullptr) refuse_kinds(reader);
  const DType dtype = reader.choose("dtype", DType::kFloat32,
                                    {{"float32", DType::kFloat32}, {"int32", DType::kInt32}});
  reader.finish();
  if (batch_shape != nullptr && shape != nullptr) {
    fail_at(batch_shape->at, "{} has both 'shape' and 'batch_shape'; keep one", reader.what());
  }
  if (batch_shape != nullptr) {
    return {name, read_input_shape(without_batch(*batch_shape)), dtype, at};
  }
  return {name, read_input_shape(shape != nullptr ? *shape : reader.require("shape")), dtype, at};
}

}  // namespace meshwork::config
