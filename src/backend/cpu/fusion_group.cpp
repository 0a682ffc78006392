#include "backend/cpu/fusion_group.h"

#include <omp.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <utility>

#include "backend/cpu/fusion_steps.h"
#include "backend/cpu/row_blocks.h"
#include "backend/cpu/spread.h"
#include "base/check.h"
#include "base/parallel.h"

namespace meshwork::cpu {
namespace {

/// Elements of a tile, at most, unless an operand repeats after somewhat more: a few tiles fill
/// half of a first-level cache.
constexpr std::int64_t kTile = 1024;
constexpr std::int64_t kLongestTile = 2 * kTile;

/// From so many bytes on, operands are not expected in a second-level cache.
constexpr std::int64_t kFarBytes = std::int64_t{2} << 20U;
constexpr std::int64_t kLine = 64 / static_cast<std::int64_t>(sizeof(float));

/// Where a step finds an operand or leaves its result.
struct Place {
  enum class Kind {
    kWhole,   ///< in memory, as large as the fusion
    kScalar,  ///< in memory, one element
    kRow,     ///< in memory, `period` elements that repeat; no tile lies across their end
    kTile,    ///< tile number `tile` of the thread
    kShared,  ///< tile number `tile` of those that are filled once for all
    kBlock,   ///< among the rows that the thread has computed before
  };
  Kind kind = Kind::kWhole;
  std::byte* data = nullptr;
  DType dtype = DType::kFloat32;
  std::int64_t period = 0;

  std::byte* element(std::int64_t index) const {
    return data + index * static_cast<std::int64_t>(size_of(dtype));
  }
  std::size_t tile = 0;
};

/// What a thread has at hand while it computes a tile.
struct Frame {
  float* tiles;
  float* block;              ///< rows of the member that is computed by rows
  std::int64_t block_begin;  ///< the first element of these
};

/// Broadcasts an operand into a tile before the steps run.
struct Fill {
  Spread spread;
  const float* operand;
  std::size_t tile;
};

struct Step {
  FusionStep run;
  std::array<Place, 3> operands;
  std::size_t operand_count;
  unsigned repeats;
  Place result;
};

class FusionLoop {
 public:
  explicit FusionLoop(const FusionGroup& args)
      : count_(num_elements(args.members.back().output.type.shape)),
        shape_(args.members.back().output.type.shape),
        workspace_(reinterpret_cast<float*>(args.workspace)) {
    tile_ = tile_for(args);
    for (std::size_t i = 0; i < args.members.size(); ++i) {
      const FusionGroup::Member& member = args.members[i];
      is_by_rows(member) ? add_rows(args, member) : add_step(args, i);
    }
    find_far_operands();
  }

  std::int64_t workspace_bytes() const {
    const std::size_t threads = static_cast<std::size_t>(omp_get_max_threads());
    const std::size_t elements =
        scratch_elements() + shared_.size() * stride() + threads * thread_elements();
    return static_cast<std::int64_t>(elements * sizeof(float));
  }

  void operator()() const {
    if (count_ == 0) return;
    for (std::size_t i = 0; i < shared_.size(); ++i) {
      shared_[i].spread.fill(shared_[i].operand, 0, std::min(tile_, count_), shared_tile(i));
    }
    if (rows_ && rows_->prepare) rows_->prepare(scratch());
    // Without rows to be computed before them all tiles are one block.
    const std::int64_t block = rows_ ? rows_->block : count_;
    const std::int64_t piece = rows_ ? block : tile_;
    for_each_share(ceil_divide(count_, piece), count_, [&](std::int64_t begin, std::int64_t end) {
      run_range(begin * piece, std::min(end * piece, count_), block);
    });
  }

 private:
  void add_rows(const FusionGroup& args, const FusionGroup::Member& member) {
    MW_CHECK(!rows_ && member.output.type.shape == shape_);
    rows_ = row_blocks(args, member, tile_);
    results_.push_back({.kind = Place::Kind::kBlock});
  }

  /// Elements [begin, end), of which `begin` starts a block.
  void run_range(std::int64_t begin, std::int64_t end, std::int64_t block) const {
    Frame frame = thread_frame();
    for (; begin < end; begin += block) {
      const std::int64_t block_end = std::min(begin + block, end);
      frame.block_begin = begin;
      if (rows_) rows_->compute(scratch(), begin, block_end, frame.block);
      for (std::int64_t tile = begin; tile < block_end; tile += tile_) {
        run_tile(tile, std::min(tile_, block_end - tile), frame);
      }
    }
  }

  /// A scale along a dimension is broadcast as if it had ones behind.
  static Shape broadcast_shape(const FusionGroup::Member& member, std::size_t operand,
                               Shape shape) {
    if (member.op == "scale_offset" && operand > 0) {
      const auto rank = static_cast<std::int64_t>(member.output.type.shape.size());
      shape.insert(shape.end(), static_cast<std::size_t>(rank - 1 - member.attrs.integer("axis")),
                   1);
    }
    return shape;
  }

  /// A multiple of the periods of all operands where there is a short one, else kTile.
  std::int64_t tile_for(const FusionGroup& args) const {
    std::int64_t together = 1;
    for (const FusionGroup::Member& member : args.members) {
      if (is_by_rows(member)) continue;
      for (std::size_t o = 0; o < member.operands.size(); ++o) {
        if (member.operands[o] >= args.inputs.size()) continue;
        const Shape& shape = args.inputs[member.operands[o]].type.shape;
        const std::int64_t period = Spread(broadcast_shape(member, o, shape), shape_).period();
        if (period == 0 || period > kLongestTile) continue;
        const std::int64_t both = std::lcm(together, period);
        if (both <= kLongestTile) together = both;
      }
    }
    return std::max<std::int64_t>(1, kTile / together) * together;
  }

  void add_step(const FusionGroup& args, std::size_t number) {
    const FusionGroup::Member& member = args.members[number];
    Step step{nullptr, {}, member.operands.size(), 0, {}};
    MW_CHECK(step.operand_count <= step.operands.size() && member.output.type.shape == shape_);
    for (std::size_t o = 0; o < member.operands.size(); ++o) {
      const std::size_t from = member.operands[o];
      Place& place = step.operands[o];
      place = from < args.inputs.size() ? place_of_input(args, member, o)
                                        : results_.at(from - args.inputs.size());
      if (place.kind == Place::Kind::kScalar) step.repeats |= 1U << o;
    }
    step.run = find_fusion_step(member.op, step.operands[0].dtype, member.output.type.dtype);
    MW_CHECK(step.run != nullptr, "'{}' in a fusion group", member.op);
    place_result(args, number, step);
    results_.push_back(step.result);
    steps_.push_back(step);
  }

  /// A result may take the tile of an operand of its type.
  void place_result(const FusionGroup& args, std::size_t number, Step& step) {
    const FusionGroup::Member& member = args.members[number];
    const DType dtype = member.output.type.dtype;
    const auto release_operands = [&] {
      for (const std::size_t from : member.operands) {
        if (from >= args.inputs.size()) release(args, from, number);
      }
    };
    const bool same_type = step.operands[0].dtype == dtype;
    if (same_type) release_operands();
    if (member.is_read) {
      step.result = {.data = member.output.data, .dtype = dtype};
    } else {
      step.result = {.kind = Place::Kind::kTile, .dtype = dtype, .tile = take_tile()};
    }
    if (!same_type) release_operands();
  }

  Place place_of_input(const FusionGroup& args, const FusionGroup::Member& member,
                       std::size_t operand) {
    const std::size_t input = member.operands[operand];
    const TensorView& view = args.inputs[input];
    const Shape shape = broadcast_shape(member, operand, view.type.shape);
    const auto known = places_.find({input, shape});
    if (known != places_.end()) return known->second;
    const Spread spread(shape, shape_);
    Place place{.data = view.data, .dtype = view.type.dtype, .period = spread.period()};
    MW_CHECK(place.dtype == DType::kFloat32 || num_elements(shape) == count_);
    if (spread.is_scalar()) {
      place.kind = Place::Kind::kScalar;
    } else if (!spread.is_dense()) {
      if (place.period > 0 && place.period % tile_ == 0) {
        place.kind = Place::Kind::kRow;
      } else if (place.period > 0 && tile_ % place.period == 0) {
        place.kind = Place::Kind::kShared;
        place.tile = shared_.size();
        shared_.push_back({spread, view.as<float>(), place.tile});
      } else {
        place.kind = Place::Kind::kTile;
        place.tile = tiles_++;  // of its own: it is filled before the first step
        fills_.push_back({spread, view.as<float>(), place.tile});
      }
    }
    places_.emplace(std::pair(input, shape), place);
    return place;
  }

  std::size_t take_tile() {
    if (free_.empty()) return tiles_++;
    const std::size_t tile = free_.back();
    free_.pop_back();
    return tile;
  }

  /// Frees the tile of an operand that no later member reads.
  void release(const FusionGroup& args, std::size_t operand, std::size_t reader) {
    const Place& place = results_.at(operand - args.inputs.size());
    if (place.kind != Place::Kind::kTile) return;
    for (std::size_t later = reader + 1; later < args.members.size(); ++later) {
      const auto& operands = args.members[later].operands;
      if (std::find(operands.begin(), operands.end(), operand) != operands.end()) return;
    }
    if (std::find(free_.begin(), free_.end(), place.tile) == free_.end()) {
      free_.push_back(place.tile);
    }
  }

  /// What comes from memory, tile by tile.
  void find_far_operands() {
    std::size_t bytes = 0;  // of an element of each
    for (const auto& [operand, place] : places_) {
      if (place.kind != Place::Kind::kWhole) continue;
      far_.push_back(place);
      bytes += size_of(place.dtype);
    }
    if (static_cast<std::int64_t>(bytes) * count_ < kFarBytes) far_.clear();
    const auto steps = static_cast<std::int64_t>(steps_.size());
    fetched_by_step_ = ceil_divide(ceil_divide(tile_, steps), kLine) * kLine;
  }

  /// Asks for elements `from` to `to` of the tile at `next`, to be there when their turn comes:
  /// memory would be idle while steps compute what is in the cache. Inlined, since a call that
  /// does nothing else is dropped by compilers.
  [[gnu::always_inline]] void fetch(std::int64_t next, std::int64_t from, std::int64_t to) const {
    to = std::min({to, tile_, count_ - next});
    for (; from < to; from += kLine) {
      for (const Place& operand : far_) __builtin_prefetch(operand.element(next + from));
    }
  }

  std::size_t stride() const { return static_cast<std::size_t>(ceil_divide(tile_, 16) * 16); }
  /// The workspace begins with the scratch of rows, in whole lines; tiles and blocks follow.
  std::int32_t* scratch() const { return reinterpret_cast<std::int32_t*>(workspace_); }
  std::size_t scratch_elements() const {
    return static_cast<std::size_t>(rows_ ? ceil_divide(rows_->scratch, kLine) * kLine : 0);
  }
  float* shared_tile(std::size_t tile) const {
    return workspace_ + scratch_elements() + tile * stride();
  }
  std::size_t thread_elements() const {
    return tiles_ * stride() + static_cast<std::size_t>(rows_ ? rows_->block : 0);
  }
  Frame thread_frame() const {
    const auto thread = static_cast<std::size_t>(omp_get_thread_num());
    float* const tiles = shared_tile(shared_.size()) + thread * thread_elements();
    return {tiles, tiles + tiles_ * stride(), 0};
  }

  /// What stands there, taken as float32 whatever it is.
  float* find(const Place& place, std::int64_t begin, const Frame& frame) const {
    const auto element = [&](std::int64_t index) {
      return reinterpret_cast<float*>(place.element(index));
    };
    switch (place.kind) {
      case Place::Kind::kWhole:
        return element(begin);
      case Place::Kind::kScalar:
        return element(0);
      case Place::Kind::kRow:
        return element(begin % place.period);
      case Place::Kind::kTile:
        return frame.tiles + place.tile * stride();
      case Place::Kind::kShared:
        return shared_tile(place.tile);
      case Place::Kind::kBlock:
        return frame.block + (begin - frame.block_begin);
    }
    return nullptr;
  }

  void run_tile(std::int64_t begin, std::int64_t count, const Frame& frame) const {
    for (const Fill& fill : fills_) {
      fill.spread.fill(fill.operand, begin, count, frame.tiles + fill.tile * stride());
    }
    std::int64_t fetched = 0;
    for (const Step& step : steps_) {
      fetch(begin + count, fetched, fetched + fetched_by_step_);
      fetched += fetched_by_step_;
      std::array<const float*, 3> operands{};
      for (std::size_t o = 0; o < step.operand_count; ++o) {
        operands[o] = find(step.operands[o], begin, frame);
      }
      step.run(operands.data(), step.repeats, find(step.result, begin, frame), count);
    }
  }

  std::int64_t count_;
  Shape shape_;
  std::int64_t tile_ = kTile;
  float* workspace_;
  std::map<std::pair<std::size_t, Shape>, Place> places_;  ///< of inputs as they are broadcast
  std::vector<Place> results_;                             ///< of members
  std::vector<Fill> shared_;
  std::vector<Fill> fills_;
  std::vector<Step> steps_;
  std::vector<Place> far_;            ///< operands to ask for ahead
  std::int64_t fetched_by_step_ = 0;  ///< elements of each
  std::size_t tiles_ = 0;             ///< of each thread
  std::vector<std::size_t> free_;
  std::optional<RowBlocks> rows_;
};

}  // namespace

Launch bind_fusion(const FusionGroup& args) { return FusionLoop(args); }

std::int64_t fusion_workspace(const FusionGroup& args) {
  return FusionLoop(args).workspace_bytes();
}

}  // namespace meshwork::cpu
