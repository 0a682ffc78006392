#include "backend/cuda/elementwise/fused_rows.h"

#include <algorithm>
#include <array>
#include <bit>

#include "backend/cuda/elementwise/fused_kernel.h"
#include "backend/cuda/elementwise/fused_operands.h"
#include "backend/cuda/elementwise/fused_rows_text.h"
#include "backend/cuda/elementwise/fused_values.h"
#include "backend/cuda/kernel.h"
#include "backend/cuda/kernels.h"
#include "backend/cuda/reductions/fold.h"
#include "backend/in_turn.h"
#include "base/check.h"
#include "base/rounded_up.h"

namespace meshwork::cuda {
namespace {

constexpr std::int64_t kWarp = 32;
constexpr int kThreads = 128;
constexpr std::int64_t kMostRows = std::int64_t{1} << 31U;
constexpr std::int64_t kSharedSums = (48 << 10) / 4 - 256;  ///< in what a block has, but for cells
static_assert(kMostColumnSums <= kSharedSums);
constexpr std::int64_t kMostParts = 512;   ///< of sums of columns: about as many blocks run at once
constexpr std::int64_t kVectorBytes = 16;  ///< at which sums begin

/// How an operand of a member goes from row to row: of the whole elements or of rows alone.
Moves row_moves(const Shape& operand, const Shape& rows) {
  Shape shape = operand;
  if (!shape.empty()) shape.back() = 1;
  return moves_of(shape, rows);
}

std::int64_t width_of(const FusedRows& rows) {
  std::size_t widest = 1;
  for (const TensorView& result : rows.results) {
    if (!rows.is_of_rows(result)) widest = std::max(widest, size_of(result.type.dtype));
  }
  for (const RowOperand& input : rows.inputs) {
    if (input.moves_along) widest = std::max(widest, size_of(input.view.type.dtype));
  }
  const std::int64_t width = vector_width(widest);
  bool wide = rows.shape.row % width == 0;
  for (const RowOperand& input : rows.inputs) {
    wide = wide && (!input.moves_along || is_aligned(input.view, width));
  }
  for (const TensorView& result : rows.results) {
    wide = wide && (rows.is_of_rows(result) || is_aligned(result, width));
  }
  return wide ? width : 1;
}

/// A warp for a row, or fewer threads of it for a short one; a block for a long one, and where
/// there would not be memory for sums of columns of each team.
std::int32_t lanes_of(const FusedRows& rows) {
  constexpr std::int64_t kVectorsOfLane = 16;
  const std::int64_t vectors = ceil_divide(rows.shape.row, rows.width);
  const auto some = std::bit_ceil(static_cast<std::uint64_t>((vectors + 1) / 2));
  const auto lanes = static_cast<std::int32_t>(std::min<std::uint64_t>(some, kWarp));
  const std::int64_t columns = std::ssize(rows.column_sums) * rows.shape.row;
  const bool is_long = vectors > kWarp * kVectorsOfLane;
  return is_long || kThreads / lanes * columns > kSharedSums ? 2 * kThreads : lanes;
}

/// What so many blocks leave of the sums of some columns.
TensorView parts_of(std::int64_t blocks, std::int64_t columns) {
  TensorView parts;
  parts.type = {DType::kFloat32, {blocks, columns}};
  return parts;
}

/// Bytes of the parts of a sum of columns, and of what adds them up: of as many blocks as there may
/// be, wherever values begin.
struct SumBytes {
  std::int64_t parts, scratch;

  explicit SumBytes(const FusedRows& rows) {
    const std::int64_t most = std::min(num_elements(rows.shape.rows), kMostParts);
    const TensorView all = parts_of(most, rows.shape.row);
    parts = rounded_up(num_bytes(all.type), kVectorBytes);
    scratch = rounded_up(fold_scratch(all, {0}, rows.shape.row), kVectorBytes);
  }
};

/// How the sums that blocks leave, one behind the other, are added up.
std::vector<FoldCall> folds_of(const FusionGroup& group, const FusedRows& rows) {
  const SumBytes bytes(rows);
  std::byte* place = group.workspace;
  std::vector<FoldCall> folds;
  for (const std::size_t m : rows.column_sums) {
    TensorView parts = parts_of(rows.blocks, rows.shape.row), sums = group.members[m].output;
    MW_CHECK(num_bytes(parts.type) <= bytes.parts &&
             fold_scratch(parts, {0}, rows.shape.row) <= bytes.scratch);
    parts.data = place;
    sums.type.shape = {rows.shape.row};
    folds.push_back({parts, sums, {0}, sum(), sum(), place + bytes.parts});
    place += bytes.parts + bytes.scratch;
  }
  return folds;
}

Launch bind_kernel(const FusionGroup& group, const FusedRows& rows,
                   const std::vector<FoldCall>& folds, CudaStream& stream) {
  std::int64_t count = num_elements(rows.shape.rows);
  MW_CHECK(count < kMostRows, "{} rows", count);
  std::vector<std::byte*> places;
  for (const RowOperand& input : rows.inputs) places.push_back(input.view.data);
  for (const TensorView& result : rows.results) places.push_back(result.data);
  for (const FoldCall& fold : folds) places.push_back(fold.x.data);
  std::vector<Divisor> dims = dims_of(rows.nest);

  std::vector<float> numbers = numbers_of(group);
  if (numbers.empty()) numbers.push_back(0);

  const std::string name = name_of(group);
  const Source source{name, fused_rows_text(group, rows, name),
                      define("WIDTH", rows.width) + define("PLACES", std::ssize(places)) +
                          define("RANK", std::ssize(dims)) +
                          define("NUMBERS", std::ssize(numbers)) + define_index(kMostRows) +
                          define("COLUMNS", rows.shape.row) + define("LANES", rows.lanes) +
                          define("THREADS", rows.threads) +
                          define("ROWS_OF_TEAM", rows.rows_of_team)};
  const Grid grid{rows.blocks, rows.threads};
  const Function function = stream.gpu().function(source, name);
  return [&stream, function, grid, places, count, dims, numbers]() mutable {
    std::array<void*, 4> parameters{places.data(), &count, dims.data(), numbers.data()};
    stream.launch(function.handle(), grid, parameters.data());
  };
}

}  // namespace

FusedRows::FusedRows(const FusionGroup& group) : shape(group) {
  std::vector<Moves> patterns;
  for (std::size_t m = 0; m < group.members.size(); ++m) {
    const FusionGroup::Member& member = group.members[m];
    for (std::size_t o = 0; o < member.operands.size(); ++o) {
      if (member.operands[o] >= group.inputs.size()) continue;
      if (find_operand(inputs, member, o) < inputs.size()) continue;
      const TensorView& view = group.inputs[member.operands[o]];
      const Shape as = broadcast_shape(member, o, view.type.shape);
      const Moves moves = row_moves(as, shape.rows);
      const auto known = std::find(patterns.begin(), patterns.end(), moves);
      const auto pattern = static_cast<std::size_t>(known - patterns.begin());
      if (known == patterns.end()) patterns.push_back(moves);
      const bool moves_along = !as.empty() && as.back() > 1;
      inputs.push_back({member.operands[o], as, view, moves_along, pattern});
    }
    if (sums_columns(member)) {
      column_sums.push_back(m);
    } else if (member.is_read) {
      results.push_back(member.output);
    }
  }
  nest.moves.resize(patterns.size());
  if (num_elements(shape.rows) > 1) nest = merged(shape.rows, patterns);
  width = width_of(*this);
  lanes = lanes_of(*this);
  threads = std::max(kThreads, lanes);
  const std::int64_t count = num_elements(shape.rows), teams = threads / lanes;
  rows_of_team = 1;
  if (!column_sums.empty() && count > 0) rows_of_team = ceil_divide(count, teams * kMostParts);
  blocks = ceil_divide(count, teams * rows_of_team);
}

std::int64_t rows_workspace(const FusionGroup& group) {
  const FusedRows rows(group);
  const SumBytes bytes(rows);
  return std::ssize(rows.column_sums) * (bytes.parts + bytes.scratch);
}

Launch bind_rows(const FusionGroup& group, CudaStream& stream) {
  const FusedRows rows(group);
  const std::vector<FoldCall> folds = folds_of(group, rows);
  std::vector<Launch> launches;
  if (rows.blocks > 0) launches.push_back(bind_kernel(group, rows, folds, stream));
  if (!folds.empty()) launches.push_back(bind_folds(folds, stream));
  return in_turn(std::move(launches));
}

}  // namespace meshwork::cuda
