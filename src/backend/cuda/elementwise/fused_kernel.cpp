#include "backend/cuda/elementwise/fused_kernel.h"

#include <algorithm>
#include <iterator>

#include "backend/cuda/elementwise/fused_operands.h"
#include "backend/cuda/elementwise/fused_text.h"
#include "backend/cuda/elementwise/fused_values.h"
#include "backend/cuda/kernel.h"
#include "base/check.h"

namespace meshwork::cuda {
namespace {

Source source_of(const FusionGroup& group, const FusedOperands& operands, std::int64_t count) {
  const std::string name = name_of(group);
  return {name, fused_text(group, operands, name),
          define("WIDTH", operands.width) +
              define("PLACES", std::ssize(operands.inputs) + std::ssize(operands.results)) +
              define("NUMBERS", std::max<std::int64_t>(1, std::ssize(numbers_of(group)))) +
              define("RANK", std::max<std::int64_t>(1, std::ssize(operands.nest.extents))) +
              define_index(count)};
}

}  // namespace

std::string name_of(const FusionGroup& group) {
  constexpr std::size_t kLongest = 80;
  std::string name = "fused";
  for (const FusionGroup::Member& member : group.members) {
    if (!is_constant(member) && name.size() < kLongest) name += "_" + std::string(member.op);
  }
  return name;
}

std::vector<Divisor> dims_of(const Nest& nest) {
  std::vector<Divisor> dims;
  for (const std::int64_t extent : nest.extents) dims.push_back(divisor_of(extent));
  if (dims.empty()) dims.emplace_back();
  return dims;
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
                     .dims = dims_of(operands.nest),
                     .numbers = numbers_of(group),
                     .grid = grid_of((count + operands.width - 1) / operands.width)};
  for (const FusedOperand& input : operands.inputs) kernel.places.push_back(input.view.data);
  for (const TensorView& result : operands.results) kernel.places.push_back(result.data);
  if (kernel.numbers.empty()) kernel.numbers.push_back(0);
  return kernel;
}

}  // namespace meshwork::cuda
