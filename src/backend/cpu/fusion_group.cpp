#include "backend/cpu/fusion_group.h"

#include <omp.h>

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <vector>

#include "backend/cpu/fusion_places.h"
#include "backend/cpu/fusion_steps.h"
#include "backend/cpu/row_blocks.h"
#include "base/check.h"
#include "base/parallel.h"
#include "base/rounded_up.h"

namespace meshwork::cpu {
namespace {

constexpr std::int64_t kLine = 64 / static_cast<std::int64_t>(sizeof(float));

/// What a thread has at hand while it computes a tile.
struct Frame {
  float* tiles;
  float* row_tiles;          ///< a number for each row of a tile
  float* block;              ///< rows of the member that is computed by rows
  std::int64_t block_begin;  ///< the first element of these
  std::int64_t tile_begin;   ///< the first element of the tile
};

struct Step {
  enum class Over {
    kElements,  ///< of the tile
    kRows,      ///< of the tile, an element for each
    kEachRow,   ///< its elements, with an operand that is the same for all of them
  };
  FusionStep run;  ///< null: each row is added up
  std::array<Place, 3> operands;
  std::size_t operand_count;
  unsigned repeats;
  Place result;
  Over over = Over::kElements;
};

class FusionLoop {
 public:
  explicit FusionLoop(const FusionGroup& args)
      : shape_(args),
        count_(num_elements(shape_.elements)),
        tile_(tile_of(args, shape_)),
        numbers_(std::make_shared<std::vector<float>>(args.members.size())),
        workspace_(reinterpret_cast<float*>(args.workspace)) {
    InputPlaces inputs(args, shape_, tile_);
    for (std::size_t i = 0; i < args.members.size(); ++i) {
      const FusionGroup::Member& member = args.members[i];
      if (is_constant(member)) {
        add_number(member);
        if (member.is_read) store_number(member);
      } else {
        is_by_rows(member) ? add_rows(args, member) : add_step(args, inputs, i);
      }
    }
    shared_ = inputs.shared();
    fills_ = inputs.fills();
    far_ = inputs.far();
    const auto steps = static_cast<std::int64_t>(steps_.size());
    fetched_by_step_ = ceil_divide(ceil_divide(tile_, steps), kLine) * kLine;
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
  void add_number(const FusionGroup::Member& member) {
    MW_CHECK(member.output.type.dtype == DType::kFloat32);
    float& number = (*numbers_)[results_.size()];
    number = number_of(member);
    results_.push_back(
        {.kind = Place::Kind::kScalar, .data = reinterpret_cast<std::byte*>(&number)});
  }

  /// Others find it in each of its elements.
  void store_number(const FusionGroup::Member& member) {
    MW_CHECK(member.output.type.shape == shape_.elements);
    constexpr DType kFloat = DType::kFloat32;
    steps_.push_back({.run = find_fusion_step("broadcast_to", kFloat, kFloat),
                      .operands = {results_.back()},
                      .operand_count = 1,
                      .repeats = 1,
                      .result = {.data = member.output.data}});
  }

  void add_rows(const FusionGroup& args, const FusionGroup::Member& member) {
    MW_CHECK(!rows_ && shape_.row == 0 && member.output.type.shape == shape_.elements);
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
        frame.tile_begin = tile;
        run_tile(std::min(tile_, block_end - tile), frame);
      }
    }
  }

  void add_step(const FusionGroup& args, InputPlaces& inputs, std::size_t number) {
    const FusionGroup::Member& member = args.members[number];
    Step step{nullptr, {}, member.operands.size(), 0, {}};
    const bool of_rows = shape_.is_of_rows(member.output.type.shape);
    MW_CHECK(step.operand_count <= step.operands.size());
    MW_CHECK(of_rows || member.output.type.shape == shape_.elements);
    const bool adds = sums_rows(member);
    for (std::size_t o = 0; o < member.operands.size(); ++o) {
      const std::size_t from = member.operands[o];
      Place& place = step.operands[o];
      place = from < args.inputs.size() ? inputs.find(member, o, of_rows && !adds, tiles_)
                                        : results_.at(from - args.inputs.size());
      const bool one_for_row = !of_rows && place.is_of_rows();
      if (one_for_row) step.over = Step::Over::kEachRow;
      if (place.kind == Place::Kind::kScalar || one_for_row) step.repeats |= 1U << o;
    }
    if (of_rows) step.over = Step::Over::kRows;
    if (!adds) {
      step.run = find_fusion_step(member.op, step.operands[0].dtype, member.output.type.dtype);
      MW_CHECK(step.run != nullptr, "'{}' in a fusion group", member.op);
    }
    place_result(args, number, of_rows, step);
    results_.push_back(step.result);
    steps_.push_back(step);
  }

  /// A result may take the tile of an operand of its type.
  void place_result(const FusionGroup& args, std::size_t number, bool of_rows, Step& step) {
    const FusionGroup::Member& member = args.members[number];
    const DType dtype = member.output.type.dtype;
    const auto release_operands = [&] {
      for (const std::size_t from : member.operands) {
        if (from >= args.inputs.size()) release(args, from, number);
      }
    };
    const bool same_type = !of_rows && step.operands[0].dtype == dtype;
    if (same_type) release_operands();
    if (member.is_read) {
      const Place::Kind kind = of_rows ? Place::Kind::kRows : Place::Kind::kWhole;
      step.result = {.kind = kind, .data = member.output.data, .dtype = dtype};
    } else if (of_rows) {
      step.result = {.kind = Place::Kind::kRowTile, .dtype = dtype, .tile = tiles_.of_rows++};
    } else {
      step.result = {.kind = Place::Kind::kTile, .dtype = dtype, .tile = take_tile()};
    }
    if (!same_type) release_operands();
  }

  std::size_t take_tile() {
    if (free_.empty()) return tiles_.whole++;
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
  std::size_t row_stride() const { return stride() / static_cast<std::size_t>(row()); }
  /// The rows of a pass that adds none up are its elements.
  std::int64_t row() const { return std::max<std::int64_t>(1, shape_.row); }
  std::size_t thread_elements() const {
    return tiles_.whole * stride() + tiles_.of_rows * row_stride() +
           static_cast<std::size_t>(rows_ ? rows_->block : 0);
  }
  Frame thread_frame() const {
    const auto thread = static_cast<std::size_t>(omp_get_thread_num());
    float* const tiles = shared_tile(shared_.size()) + thread * thread_elements();
    float* const row_tiles = tiles + tiles_.whole * stride();
    return {tiles, row_tiles, row_tiles + tiles_.of_rows * row_stride(), 0, 0};
  }

  /// What stands there for an element of the tile, taken as float32 whatever it is.
  float* find(const Place& place, std::int64_t index, const Frame& frame) const {
    const auto behind = [&](void* first, std::int64_t number) {
      const Place here{.data = static_cast<std::byte*>(first), .dtype = place.dtype};
      return reinterpret_cast<float*>(here.element(number));
    };
    const std::int64_t within = index - frame.tile_begin;
    switch (place.kind) {
      case Place::Kind::kWhole:
        return behind(place.data, index);
      case Place::Kind::kScalar:
        return behind(place.data, 0);
      case Place::Kind::kPeriod:
        return behind(place.data, index % place.period);
      case Place::Kind::kTile:
        return behind(frame.tiles + place.tile * stride(), within);
      case Place::Kind::kShared:
        return behind(shared_tile(place.tile), within);
      case Place::Kind::kBlock:
        return behind(frame.block, index - frame.block_begin);
      case Place::Kind::kRows:
        return behind(place.data, index / row());
      case Place::Kind::kRowTile:
        return behind(frame.row_tiles + place.tile * row_stride(), within / row());
    }
    return nullptr;
  }

  void run_tile(std::int64_t count, const Frame& frame) const {
    const std::int64_t begin = frame.tile_begin;
    for (const Fill& fill : fills_) {
      float* const tiles = fill.is_of_rows ? frame.row_tiles : frame.tiles;
      const std::int64_t each = fill.is_of_rows ? row() : 1;
      fill.spread.fill(fill.operand, begin / each, count / each,
                       tiles + fill.tile * (fill.is_of_rows ? row_stride() : stride()));
    }
    std::int64_t fetched = 0;
    for (const Step& step : steps_) {
      fetch(begin + count, fetched, fetched + fetched_by_step_);
      fetched += fetched_by_step_;
      switch (step.over) {
        case Step::Over::kElements:
          run_step(step, begin, count, frame);
          break;
        case Step::Over::kRows:
          step.run == nullptr ? add_up(step, count / row(), frame)
                              : run_step(step, begin, count / row(), frame);
          break;
        case Step::Over::kEachRow:
          for (std::int64_t i = 0; i < count; i += row()) run_step(step, begin + i, row(), frame);
          break;
      }
    }
  }

  void run_step(const Step& step, std::int64_t begin, std::int64_t count,
                const Frame& frame) const {
    std::array<const float*, 3> operands{};
    for (std::size_t o = 0; o < step.operand_count; ++o) {
      operands[o] = find(step.operands[o], begin, frame);
    }
    step.run(operands.data(), step.repeats, find(step.result, begin, frame), count);
  }

  void add_up(const Step& step, std::int64_t rows, const Frame& frame) const {
    const std::int64_t begin = frame.tile_begin;
    row_sums_(find(step.operands[0], begin, frame), row(), rows, find(step.result, begin, frame));
  }

  PassShape shape_;
  std::int64_t count_;
  std::int64_t tile_;
  std::shared_ptr<std::vector<float>>
      numbers_;  ///< those of members; copies of the loop share them
  float* workspace_;
  RowSums row_sums_ = find_row_sums();
  std::vector<Place> results_;  ///< of members
  std::vector<Fill> shared_;
  std::vector<Fill> fills_;
  std::vector<Step> steps_;
  std::vector<Place> far_;            ///< operands to ask for ahead
  std::int64_t fetched_by_step_ = 0;  ///< elements of each
  TileCounts tiles_;                  ///< of each thread
  std::vector<std::size_t> free_;
  std::optional<RowBlocks> rows_;
};

}  // namespace

Launch bind_fusion(const FusionGroup& args) { return FusionLoop(args); }

std::int64_t fusion_workspace(const FusionGroup& args) {
  return FusionLoop(args).workspace_bytes();
}

}  // namespace meshwork::cpu
