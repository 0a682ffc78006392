#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

#include "backend/backend.h"
#include "backend/cpu/spread.h"
#include "backend/pass_shape.h"

namespace meshwork::cpu {

/// Where a step of a pass finds an operand or leaves its result.
struct Place {
  enum class Kind {
    kWhole,    ///< in memory, as large as the pass
    kScalar,   ///< in memory, one element
    kPeriod,   ///< in memory, `period` elements that repeat; no tile lies across their end
    kTile,     ///< tile number `tile` of the thread
    kShared,   ///< tile number `tile` of those that are filled once for all
    kBlock,    ///< among the rows that the thread has computed before
    kRows,     ///< in memory, an element for each row
    kRowTile,  ///< the same, of the rows of a tile: number `tile` of the thread
  };
  Kind kind = Kind::kWhole;
  std::byte* data = nullptr;
  DType dtype = DType::kFloat32;
  std::int64_t period = 0;
  std::size_t tile = 0;

  std::byte* element(std::int64_t index) const {
    return data + index * static_cast<std::int64_t>(size_of(dtype));
  }
  bool is_of_rows() const { return kind == Kind::kRows || kind == Kind::kRowTile; }
};

/// Broadcasts an operand into a tile, or one of rows, before the steps run.
struct Fill {
  Spread spread;
  const float* operand;
  std::size_t tile;
  bool is_of_rows = false;
};

/// How many tiles a thread has.
struct TileCounts {
  std::size_t whole = 0, of_rows = 0;
};

/// The elements of a tile: whole rows where rows are added up, else a multiple of the periods of
/// all operands where there is a short one.
std::int64_t tile_of(const FusionGroup& args, const PassShape& shape);

/// The places of the inputs of a pass, and what is to be filled before they can be read.
class InputPlaces {
 public:
  InputPlaces(const FusionGroup& args, PassShape shape, std::int64_t tile)
      : args_(args), shape_(std::move(shape)), tile_(tile) {}

  /// An operand of a member that is made for each element or, `of_rows`, for each row. A tile of a
  /// thread that is to be filled is added to `tiles`.
  Place find(const FusionGroup::Member& member, std::size_t operand, bool of_rows,
             TileCounts& tiles);

  const std::vector<Fill>& shared() const { return shared_; }  ///< once for all
  const std::vector<Fill>& fills() const { return fills_; }    ///< for each tile

  /// What comes from memory, tile by tile.
  std::vector<Place> far() const;

 private:
  Place place_of(const TensorView& view, const Shape& shape, bool of_rows, TileCounts& tiles);

  const FusionGroup& args_;
  PassShape shape_;
  std::int64_t tile_;
  /// Of inputs as they are broadcast, to rows or to their elements.
  std::map<std::tuple<std::size_t, Shape, bool>, Place> places_;
  std::vector<Fill> shared_;
  std::vector<Fill> fills_;
};

}  // namespace meshwork::cpu
