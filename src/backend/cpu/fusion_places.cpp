#include "backend/cpu/fusion_places.h"

#include <algorithm>
#include <numeric>

#include "backend/cpu/row_blocks.h"
#include "base/check.h"

namespace meshwork::cpu {
namespace {

/// Elements of a tile, at most, unless an operand repeats after somewhat more, or a row is longer:
/// a few tiles fill half of a first-level cache.
constexpr std::int64_t kTile = 1024;
constexpr std::int64_t kLongestTile = 2 * kTile;

/// From so many bytes on, operands are not expected in a second-level cache.
constexpr std::int64_t kFarBytes = std::int64_t{2} << 20U;

}  // namespace

std::int64_t tile_of(const FusionGroup& args, const PassShape& shape) {
  if (shape.row > 0) return std::max<std::int64_t>(1, kTile / shape.row) * shape.row;
  std::int64_t together = 1;
  for (const FusionGroup::Member& member : args.members) {
    if (is_by_rows(member)) continue;
    for (std::size_t o = 0; o < member.operands.size(); ++o) {
      if (member.operands[o] >= args.inputs.size()) continue;
      const Shape& operand = args.inputs[member.operands[o]].type.shape;
      const std::int64_t period =
          Spread(broadcast_shape(member, o, operand), shape.elements).period();
      if (period == 0 || period > kLongestTile) continue;
      const std::int64_t both = std::lcm(together, period);
      if (both <= kLongestTile) together = both;
    }
  }
  return std::max<std::int64_t>(1, kTile / together) * together;
}

Place InputPlaces::find(const FusionGroup::Member& member, std::size_t operand, bool of_rows,
                        TileCounts& tiles) {
  const std::size_t input = member.operands[operand];
  const TensorView& view = args_.inputs[input];
  const Shape shape = broadcast_shape(member, operand, view.type.shape);
  const auto known = places_.find({input, shape, of_rows});
  if (known != places_.end()) return known->second;
  return places_[{input, shape, of_rows}] = place_of(view, shape, of_rows, tiles);
}

Place InputPlaces::place_of(const TensorView& view, const Shape& shape, bool of_rows,
                            TileCounts& tiles) {
  Place place{.data = view.data, .dtype = view.type.dtype};
  const Shape& whole = of_rows ? shape_.rows : shape_.elements;
  const Spread spread(shape, whole);
  place.period = spread.period();
  const bool is_of_rows = shape_.is_of_rows(shape);
  MW_CHECK(
      place.dtype == DType::kFloat32 || is_of_rows || num_elements(shape) == num_elements(whole),
      "{} broadcast", to_string(place.dtype));
  if (spread.is_scalar()) {
    place.kind = Place::Kind::kScalar;
  } else if (is_of_rows) {
    place.kind = Place::Kind::kRows;
  } else if (of_rows) {
    place.kind = Place::Kind::kRowTile;
    place.tile = tiles.of_rows++;
    fills_.push_back({spread, view.as<float>(), place.tile, true});
  } else if (!spread.is_dense()) {
    if (place.period > 0 && place.period % tile_ == 0) {
      place.kind = Place::Kind::kPeriod;
    } else if (place.period > 0 && tile_ % place.period == 0) {
      place.kind = Place::Kind::kShared;
      place.tile = shared_.size();
      shared_.push_back({spread, view.as<float>(), place.tile});
    } else {
      place.kind = Place::Kind::kTile;
      place.tile = tiles.whole++;
      fills_.push_back({spread, view.as<float>(), place.tile});
    }
  }
  return place;
}

std::vector<Place> InputPlaces::far() const {
  std::vector<Place> far;
  std::size_t bytes = 0;  // of an element of each
  for (const auto& [operand, place] : places_) {
    if (place.kind != Place::Kind::kWhole) continue;
    far.push_back(place);
    bytes += size_of(place.dtype);
  }
  if (static_cast<std::int64_t>(bytes) * num_elements(shape_.elements) < kFarBytes) far.clear();
  return far;
}

}  // namespace meshwork::cpu
