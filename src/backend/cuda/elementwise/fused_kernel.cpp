#include "backend/cuda/elementwise/fused_kernel.h"

#include <algorithm>
#include <bit>
#include <iterator>

#include "backend/cuda/elementwise/fused_operands.h"
#include "backend/cuda/elementwise/fused_text.h"
#include "backend/cuda/elementwise/fused_values.h"
#include "backend/cuda/kernel.h"
#include "base/check.h"

namespace meshwork::cuda {
namespace {

/// Beyond, indices take 64 bits.
constexpr std::int64_t kNarrowIndices = std::int64_t{1} << 31U;

Source source_of(const FusionGroup& group, const FusedOperands& operands, std::int64_t count) {
  const std::string name = name_of(group);
  const std::string index = count < kNarrowIndices ? "uint32" : "uint64";
  return {name, fused_text(group, operands, name),
          define("WIDTH", operands.width) +
              define("PLACES", std::ssize(operands.inputs) + std::ssize(operands.results)) +
              define("NUMBERS", std::max<std::int64_t>(1, std::ssize(numbers_of(group)))) +
              define("RANK", std::max<std::int64_t>(1, std::ssize(operands.nest.extents))) +
              "#define INDEX " + index + "\n"};
}

}  // namespace

std::string name_of(const FusionGroup& group) {
  constexpr std::size_t kLongest = 80;
  std::string name = "fused";
  for (const FusionGroup::Member& member : group.members) {
    if (!is_number(member) && name.size() < kLongest) name += "_" + std::string(member.op);
  }
  return name;
}

FusedKernel::Dim division_by(std::int64_t extent) {
  // With 2^(s - 1) < extent <= 2^s, (2^32 + m) / 2^(32 + s) is above 1 / extent by so little that
  // no i below 2^31 sees it (Granlund and Montgomery 1994).
  MW_CHECK(extent > 0 && extent < kNarrowIndices, "{}", extent);
  const auto divisor = static_cast<std::uint64_t>(extent);
  const auto shift = static_cast<std::uint32_t>(std::bit_width(divisor - 1));
  const std::uint64_t above = ((std::uint64_t{1} << shift) - divisor) << 32U;
  return {extent, static_cast<std::uint32_t>(above / divisor + 1), shift};
}

FusedKernel fused_kernel(const FusionGroup& group) {
  const FusedOperands operands = operands_of(group);
  const std::int64_t count = num_elements(operands.shape);
  const std::int64_t vectors = count / operands.width;
  FusedKernel kernel{.source = source_of(group, operands, count),
                     .places = {},
                     .sizes = {.count = count,
                               .wide = operands.are_wide() ? vectors * operands.width : 0,
                               .rows = operands.are_rows() ? count : 0},
                     .dims = {},
                     .numbers = numbers_of(group),
                     .grid = grid_of((count + operands.width - 1) / operands.width)};
  for (const FusedOperand& input : operands.inputs) kernel.places.push_back(input.view.data);
  for (const TensorView& result : operands.results) kernel.places.push_back(result.data);
  for (const std::int64_t extent : operands.nest.extents) {
    kernel.dims.push_back(count < kNarrowIndices ? division_by(extent) : FusedKernel::Dim{extent});
  }
  if (kernel.dims.empty()) kernel.dims.push_back(division_by(1));
  if (kernel.numbers.empty()) kernel.numbers.push_back(0);
  return kernel;
}

}  // namespace meshwork::cuda
