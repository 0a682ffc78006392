#include "backend/cuda/elementwise/fused_rows.h"

#include <algorithm>
#include <array>
#include <bit>

#include "backend/cuda/elementwise/fused_kernel.h"
#include "backend/cuda/elementwise/fused_operands.h"
#include "backend/cuda/elementwise/fused_rows_text.h"
#include "backend/cuda/elementwise/fused_values.h"
#include "backend/cuda/kernel.h"
#include "base/check.h"

namespace meshwork::cuda {
namespace {

constexpr std::int64_t kWarp = 32;
constexpr int kThreads = 128;
constexpr std::int64_t kMostRows = std::int64_t{1} << 31U;

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

/// A warp for a row, or fewer threads of it for a short one, or a block for a long one.
std::int32_t lanes_of(const FusedRows& rows) {
  constexpr std::int64_t kVectorsOfLane = 16;
  const std::int64_t vectors = (rows.shape.row + rows.width - 1) / rows.width;
  if (vectors > kWarp * kVectorsOfLane) return 2 * kThreads;
  const auto lanes = std::bit_ceil(static_cast<std::uint64_t>((vectors + 1) / 2));
  return static_cast<std::int32_t>(std::min<std::uint64_t>(lanes, kWarp));
}

}  // namespace

FusedRows::FusedRows(const FusionGroup& group) : shape(group) {
  std::vector<Moves> patterns;
  for (const FusionGroup::Member& member : group.members) {
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
    if (member.is_read) results.push_back(member.output);
  }
  nest.moves.resize(patterns.size());
  if (num_elements(shape.rows) > 1) nest = merged(shape.rows, patterns);
  width = width_of(*this);
}

Launch bind_rows(const FusionGroup& group, CudaStream& stream) {
  const FusedRows rows(group);
  std::int64_t count = num_elements(rows.shape.rows);
  MW_CHECK(count < kMostRows, "{} rows", count);
  std::vector<std::byte*> places;
  for (const RowOperand& input : rows.inputs) places.push_back(input.view.data);
  for (const TensorView& result : rows.results) places.push_back(result.data);
  std::vector<Divisor> dims = dims_of(rows.nest);

  std::vector<float> numbers = numbers_of(group);
  if (numbers.empty()) numbers.push_back(0);

  const std::int32_t lanes = lanes_of(rows);
  const int threads = std::max(kThreads, lanes);
  const std::int64_t of_block = threads / lanes;
  const std::string name = name_of(group);
  const Source source{name, fused_rows_text(group, rows, name),
                      define("WIDTH", rows.width) + define("PLACES", std::ssize(places)) +
                          define("RANK", std::ssize(dims)) +
                          define("NUMBERS", std::ssize(numbers)) + define_index(kMostRows) +
                          define("COLUMNS", rows.shape.row) + define("LANES", lanes) +
                          define("THREADS", threads)};
  const Grid grid{(count + of_block - 1) / of_block, threads};
  const Function function = stream.gpu().function(source, name);
  return [&stream, function, grid, places, count, dims, numbers]() mutable {
    std::array<void*, 4> parameters{places.data(), &count, dims.data(), numbers.data()};
    stream.launch(function.handle(), grid, parameters.data());
  };
}

}  // namespace meshwork::cuda
