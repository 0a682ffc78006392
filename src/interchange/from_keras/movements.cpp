#include "interchange/from_keras/movements.h"

#include <algorithm>
#include <numeric>

#include "base/error.h"
#include "base/json.h"
#include "interchange/from_keras/values.h"

namespace meshwork::from_keras {
namespace {

[[noreturn]] void fail_at_batch() {
  fail("it moves the batch, which stays the first dimension here");
}

/// A dimension of `rank`; not the batch.
std::int64_t axis_of(const Json& given, std::size_t rank) {
  const auto dims = static_cast<std::int64_t>(rank);
  const std::int64_t axis = whole(given) < 0 ? whole(given) + dims : whole(given);
  if (axis == 0) fail_at_batch();
  if (axis < 0 || axis >= dims) fail("it has no dimension {}", whole(given));
  return axis;
}

/// One or several, each once.
std::vector<std::int64_t> axes_of(const Json& given, std::size_t rank) {
  std::vector<std::int64_t> axes;
  for (const Json& one : given.is_array() ? given : Json::array({given})) {
    axes.push_back(axis_of(one, rank));
    if (std::ranges::count(axes, axes.back()) > 1) fail("it names a dimension twice");
  }
  return axes;
}

Layer reshape(const Json& target) {
  Layer layer{"Reshape", {}};
  layer.args.insert("target_shape", {}).value = value_of(target);
  return layer;
}

/// `places`: of the dimensions of the result in the input, the batch first.
Layer permute(const Shape& places) {
  if (places.empty() || places.front() != 0) fail_at_batch();
  Layer layer{"Permute", {}};
  layer.args.insert("dims", {}).value = value_of(Shape(places.begin() + 1, places.end()));
  return layer;
}

Layer expand(const Json& axis, const Shape& input) {
  const std::size_t added = axis.is_array() ? axis.size() : 1;
  std::vector<std::int64_t> axes = axes_of(axis, input.size() + added);
  std::ranges::sort(axes);
  Shape shape = input;
  for (const std::int64_t one : axes) shape.insert(shape.begin() + one, 1);
  return reshape(Shape(shape.begin() + 1, shape.end()));
}

/// Of null all dimensions of one element.
Layer squeeze(const Json& axis, const Shape& input) {
  std::vector<std::int64_t> axes;
  if (!axis.is_null()) axes = axes_of(axis, input.size());
  Shape shape;
  for (std::size_t d = 1; d < input.size(); ++d) {
    const bool is_named = std::ranges::find(axes, static_cast<std::int64_t>(d)) != axes.end();
    if (!(is_named || axis.is_null()) || input[d] != 1) shape.push_back(input[d]);
  }
  return reshape(shape);
}

/// Moves dimension source[i] to destination[i]; the others keep their order.
Layer move(const std::vector<std::int64_t>& source, const std::vector<std::int64_t>& destination,
           std::size_t rank) {
  if (source.size() != destination.size()) fail("it moves dimensions to more or fewer places");
  Shape rest(rank);
  std::iota(rest.begin(), rest.end(), std::int64_t{0});
  std::erase_if(rest, [&](std::int64_t d) { return std::ranges::find(source, d) != source.end(); });
  std::vector<std::pair<std::int64_t, std::int64_t>> moved;  // to, from
  for (std::size_t i = 0; i < source.size(); ++i) moved.emplace_back(destination[i], source[i]);
  std::ranges::sort(moved);
  for (const auto& [to, from] : moved) rest.insert(rest.begin() + to, from);
  return permute(rest);
}

Layer swap(std::int64_t first, std::int64_t second, std::size_t rank) {
  Shape places(rank);
  std::iota(places.begin(), places.end(), std::int64_t{0});
  std::swap(places[static_cast<std::size_t>(first)], places[static_cast<std::size_t>(second)]);
  return permute(places);
}

}  // namespace

std::optional<Layer> as_movement(const Json& operation, const Shape& input) {
  const std::string name = operation.at("class_name").get<std::string>();
  const Json& config = operation.at("config");
  const std::size_t rank = input.size();
  if (name == "Reshape") {
    const Json& shape = config.at("newshape");
    if (!shape.is_array() || shape.empty() || shape[0] != -1) {
      fail("its shape {} does not begin with -1, the batch", json_dump(shape));
    }
    return reshape(Json(Json::array_t(shape.begin() + 1, shape.end())));
  }
  if (name == "ExpandDims") return expand(config.at("axis"), input);
  if (name == "Squeeze") return squeeze(config.at("axis"), input);
  if (name == "Swapaxes") {
    return swap(axis_of(config.at("axis1"), rank), axis_of(config.at("axis2"), rank), rank);
  }
  if (name == "Moveaxis") {
    return move(axes_of(config.at("source"), rank), axes_of(config.at("destination"), rank), rank);
  }
  if (name == "Transpose") {
    const Json& axes = config.at("axes");
    if (!axes.is_array()) fail_at_batch();
    Shape places;
    for (const Json& axis : axes) {
      const bool is_batch = places.empty() && whole(axis) == 0;
      places.push_back(is_batch ? 0 : axis_of(axis, rank));
    }
    return permute(places);
  }
  return std::nullopt;
}

}  // namespace meshwork::from_keras
