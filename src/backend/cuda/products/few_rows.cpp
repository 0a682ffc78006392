#include "backend/cuda/products/few_rows.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "backend/cuda/kernel.h"
#include "backend/cuda/products/few_rows_sides.h"
#include "backend/cuda/products/few_rows_text.h"
#include "backend/cuda/walk.h"
#include "base/rounded_up.h"

namespace meshwork::cuda::products {
namespace {

constexpr std::int64_t kMostRows = 4;

/// Where a product reads and writes.
struct Pointers {
  const std::byte* matrix;
  const std::byte* few;
  std::byte* y;
};

/// The kernel that computes y, or sums of parts of it.
Launch bind_sums(CudaStream& stream, const Sides& sides, const std::string& dtypes,
                 const Pointers& pointers, const Epilogue& epilogue) {
  Walk stack;
  for (std::size_t d = 0; d < sides.stack.size(); ++d) {
    stack.add(sides.stack[d], sides.matrix_stack[d], sides.few_stack[d], sides.y_stack[d]);
  }
  const auto width_at = [](const std::byte* place, std::int64_t width) {
    return reinterpret_cast<std::uintptr_t>(place) % kFewRowsLoad == 0 ? width : 1;
  };
  const std::int64_t width = width_at(pointers.matrix, sides.width);
  const std::int64_t few_width = std::min(width, width_at(pointers.few, sides.few_width));
  const std::int64_t above = num_elements(sides.stack) * sides.sizes.parts;
  const std::int64_t count = above * (sides.by_dots ? sides.sizes.lines : sides.tiles(width));
  const std::string defines = dtypes + define("WIDTH", width) + define("FEW_WIDTH", few_width) +
                              define("ROWS", sides.rows) + define_index(count) +
                              define_epilogue(epilogue);
  const auto launch = [&](const char* kernel, const char* text, std::int64_t blocks,
                          auto... arguments) {
    const Source source{kernel, std::string(kWalk) + kEpilogue + kFewRows + text, defines};
    return kernel_launch(stream, source, kernel, {blocks, kFewRowsThreads}, pointers.y,
                         pointers.matrix, pointers.few, stack, sides.sizes, sides.strides,
                         epilogue.bias, epilogue.columns, arguments...);
  };
  if (!sides.by_dots) return launch("few_rows_columns", kFewRowsColumns, count, count / above);
  // Two loads of a lane, and more of a long sum.
  const auto loads = static_cast<std::uint64_t>(ceil_divide(sides.sizes.depth, width));
  const int log_lanes = std::min(static_cast<int>(std::bit_width((loads - 1) / 2)), 5);
  return launch("few_rows_dots", kFewRowsDots, ceil_divide(count << log_lanes, kFewRowsThreads),
                count, static_cast<std::int32_t>(log_lanes));
}

/// The kernel that adds up sums of parts.
Launch bind_parts(CudaStream& stream, const Sides& sides, const std::string& dtypes,
                  const std::byte* sums, std::byte* y, const Epilogue& epilogue) {
  Walk results;
  for (std::size_t d = 0; d < sides.stack.size(); ++d) {
    results.add(sides.stack[d], 0, 0, sides.y_stack[d]);
  }
  results.add(sides.rows, 0, 0, sides.strides.y_row);
  results.add(sides.sizes.lines, 0, 0, sides.strides.y_line);
  const std::int64_t count = sides.results();
  const Source source{"few_rows_parts", std::string(kWalk) + kEpilogue + kFewRowsParts,
                      dtypes + define_index(count) + define_epilogue(epilogue)};
  return kernel_launch(stream, source, source.name,
                       {ceil_divide(count, kFewRowsWarps), kFewRowsThreads}, y, sums, results,
                       epilogue.bias, epilogue.columns, count, sides.sizes.parts);
}

/// The sides of a product whose result are dense sums of parts.
Sides in_parts(Sides sides) {
  sides.strides.y_line = 1;
  sides.strides.y_row = sides.sizes.lines;
  sides.strides.y_part = sides.results();
  sides.y_stack = row_major_strides(sides.stack);
  for (std::int64_t& stride : sides.y_stack) stride *= sides.rows * sides.sizes.lines;
  return sides;
}

}  // namespace

bool FewRows::pays(const EinsumPlan& plan) { return std::min(plan.m, plan.n) <= kMostRows; }

std::int64_t FewRows::workspace(const EinsumPlan& plan, DType operands) {
  const Sides sides(plan, operands);
  const auto bytes = sides.sizes.parts * sides.results() * static_cast<std::int64_t>(sizeof(float));
  return sides.sizes.parts > 1 ? bytes : 0;
}

Launch FewRows::bind(CudaStream& stream, const EinsumPlan& plan, DType operands, DType result,
                     const std::byte* x, const std::byte* w, std::byte* y, std::byte* workspace,
                     const Epilogue& epilogue) {
  const Sides sides(plan, operands);
  Pointers pointers{w, x, y};
  if (sides.swapped) std::swap(pointers.matrix, pointers.few);
  const std::string read = define("T", operands), written = define("R", result);
  if (sides.sizes.parts == 1) return bind_sums(stream, sides, read + written, pointers, epilogue);
  pointers.y = workspace;
  return
      [sums = bind_sums(stream, in_parts(sides), read + define("R", DType::kFloat32), pointers, {}),
       parts = bind_parts(stream, sides, written, workspace, y, epilogue)] {
        sums();
        parts();
      };
}

}  // namespace meshwork::cuda::products
