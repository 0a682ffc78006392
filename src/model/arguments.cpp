#include "model/arguments.h"

#include <algorithm>
#include <limits>

namespace meshwork {
namespace {

void check_has_axes(const std::string& what, const config::Location& at, std::size_t rank) {
  if (rank < 2) fail_at(at, "{}: a sample of its input is one number, and has no axis", what);
}

[[noreturn]] void refuse_batch(const std::string& what, const config::Location& at,
                               std::size_t rank) {
  fail_at(at, "{}: axis 0 is the batch; give 1 to {}, or -1 for the last", what, rank - 1);
}

}  // namespace

void refuse_arguments(config::Reader& args, std::initializer_list<std::string_view> keys) {
  for (const std::string_view key : keys) {
    if (const config::Value* value = args.find_refused(key)) {
      fail_at(value->at, "{}: '{}' is not supported yet; leave it out", args.what(), key);
    }
  }
}

bool is_null(config::Reader& args, std::string_view key) {
  return args.find(key) == nullptr && !args.get_optional(key, 0.0, {});
}

void refuse_null(config::Reader& args, std::initializer_list<std::string_view> keys) {
  for (const std::string_view key : keys) {
    if (!is_null(args, key)) continue;
    fail_at(args.at(), "{}: {} is null, which Keras does not take here; leave it out", args.what(),
            key);
  }
}

void refuse_dtype(config::Reader& args) {
  const config::Value* dtype = args.find("dtype");
  if (dtype != nullptr && dtype->as_string("dtype") != "float32") {
    fail_at(dtype->at, "{}: dtype '{}' is not supported yet; leave it out for float32", args.what(),
            dtype->scalar);
  }
}

std::int64_t read_axis(const config::Value* axis, std::int64_t fallback, std::size_t rank) {
  const auto count = static_cast<std::int64_t>(rank);
  const std::int64_t given = axis == nullptr ? fallback : axis->as_integer("axis");
  if (axis != nullptr && (given < -count || given >= count)) {
    fail_at(axis->at, "axis is {}, but there are {} dimensions; give {} to {}", given, count,
            -count, count - 1);
  }
  return given < 0 ? given + count : given;
}

std::vector<std::int64_t> read_axes(const config::Value* axes, std::int64_t fallback,
                                    std::size_t rank) {
  if (axes == nullptr || !axes->is_list()) return {read_axis(axes, fallback, rank)};
  std::vector<std::int64_t> result;
  for (const config::Value& axis : axes->list) result.push_back(read_axis(&axis, fallback, rank));
  std::sort(result.begin(), result.end());
  const auto twice = std::adjacent_find(result.begin(), result.end());
  if (twice != result.end()) fail_at(axes->at, "axis names dimension {} twice", *twice);
  if (result.empty()) fail_at(axes->at, "axis is an empty list; give at least one dimension");
  return result;
}

std::vector<std::int64_t> read_sample_axes(config::Reader& args, std::size_t rank) {
  const config::Value* const axes = args.find("axis");
  check_has_axes(args.what(), args.at(), rank);
  std::vector<std::int64_t> dims = read_axes(axes, -1, rank);
  if (dims.front() == 0) refuse_batch(args.what(), axes->at, rank);
  return dims;
}

std::int64_t read_sample_axis(const std::string& what, const config::Location& at,
                              const config::Value* axis, std::size_t rank) {
  check_has_axes(what, at, rank);
  const std::int64_t dim = read_axis(axis, -1, rank);
  if (dim == 0) refuse_batch(what, axis->at, rank);
  return dim;
}

std::int64_t read_sample_axis(config::Reader& args, std::size_t rank) {
  return read_sample_axis(args.what(), args.at(), args.find("axis"), rank);
}

std::int64_t checked_elements(const Shape& shape) {
  constexpr std::int64_t kMost = std::int64_t{1} << 46;
  constexpr std::int64_t kMostExtent = std::numeric_limits<std::int32_t>::max();
  std::int64_t count = 1;
  for (const std::int64_t extent : shape) {
    if (extent > kMostExtent || (extent != 0 && count > kMost / extent)) return -1;
    count *= extent;
  }
  return count;
}

std::string sample_shape(const Shape& shape) {
  return shape.empty() ? to_string(shape) : to_string(Shape(shape.begin() + 1, shape.end()));
}

}  // namespace meshwork
