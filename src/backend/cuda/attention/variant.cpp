#include "backend/cuda/attention/variant.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "backend/cuda/attention/narrow_products.h"
#include "backend/cuda/attention/products.h"
#include "backend/cuda/attention/scores.h"
#include "backend/cuda/attention/tensor_cores.h"
#include "backend/cuda/attention/tiles.h"
#include "backend/cuda/random/generator.h"
#include "base/rounded_up.h"

namespace meshwork::cuda::attention {
namespace {

/// What tensor cores multiply.
struct TensorCores {
  DType dtype;
  const char* ptx;  ///< its name in PTX, quoted
  int capability;   ///< of the first GPUs that have them
};
constexpr std::array kTensorCores{TensorCores{DType::kBFloat16, "\"bf16\"", 80},
                                  TensorCores{DType::kFloat16, "\"f16\"", 75}};

/// nullptr if there are none.
const TensorCores* tensor_cores(DType dtype) {
  const auto* const found =
      std::find_if(kTensorCores.begin(), kTensorCores.end(),
                   [&](const TensorCores& cores) { return cores.dtype == dtype; });
  return found == kTensorCores.end() ? nullptr : found;
}

constexpr std::int64_t kMostColumns = 256;

std::int64_t rounded_up(std::int64_t columns) {
  for (const std::int64_t width : {32, 64, 96, 128}) {
    if (columns <= width) return width;
  }
  return kMostColumns;
}

}  // namespace

Variant variant_of(const Request& request, std::int64_t columns) {
  const DType dtype = request.inputs[0].type.dtype;
  const TensorCores* const cores = tensor_cores(dtype);
  const bool on_tensor_cores =
      cores != nullptr && request.stream->gpu().capability() >= cores->capability;
  std::int64_t width = columns;
  if (on_tensor_cores) {
    for (const std::size_t operand : {0, 2}) {
      width = std::max(width, request.inputs[operand].type.shape.back());
    }
  }
  return {.dtype = dtype,
          .on_tensor_cores = on_tensor_cores,
          .width = rounded_up(width),
          .slices = std::max<std::int64_t>(1, ceil_divide(columns, kMostColumns)),
          .rows = on_tensor_cores ? 128 : 64};
}

Grid grid_of(const Variant& variant, std::int64_t rows, const Operands& operands) {
  const std::int64_t heads = std::int64_t{operands.b} * operands.g;
  return {ceil_divide(rows, variant.rows) * variant.slices * heads,
          static_cast<int>(2 * variant.rows)};
}

Source source_of(std::string name, std::initializer_list<std::string_view> texts,
                 const Variant& variant) {
  Source source{.name = std::move(name), .text = {}, .defines = {}};
  source.defines = define("T", variant.dtype) + define("WIDTH", variant.width) +
                   define("TILE_ROWS", variant.rows);
  source.text += kOperandsText;
  source.text += kGeneratorText;
  source.text += kTilesText;
  if (variant.on_tensor_cores) {
    source.defines += fmt::format("#define PTX_T {}\n", tensor_cores(variant.dtype)->ptx);
    source.text += kTensorCoresText;
    source.text += kNarrowProductsText;
  } else {
    source.text += kProductsText;
  }
  source.text += kScoresText;
  for (const std::string_view text : texts) source.text += text;
  return source;
}

std::int32_t are_aligned(const Request& request, std::size_t count, const Variant& variant) {
  const std::int64_t elements = variant.on_tensor_cores ? 8 : 4;
  const auto end = request.inputs.begin() + static_cast<std::ptrdiff_t>(count);
  const bool all = std::all_of(request.inputs.begin(), end, [&](const TensorView& input) {
    return input.type.shape.back() % elements == 0 &&
           reinterpret_cast<std::uintptr_t>(input.data) % 16 == 0;
  });
  return all ? 1 : 0;
}

}  // namespace meshwork::cuda::attention
