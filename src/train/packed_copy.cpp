#include "train/packed_copy.h"
#include "base/rounded_up.h"

#include <algorithm>
#include <numeric>

namespace meshwork {

PackedCopy::PackedCopy(std::span<const TensorView> tensors, std::int64_t gap)
    : places(tensors.size(), kNowhere) {
  std::vector<std::size_t> order(tensors.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::erase_if(order, [&](std::size_t i) { return tensors[i].data == nullptr; });
  std::ranges::stable_sort(order, std::less<>(), [&](std::size_t i) { return tensors[i].data; });
  for (const std::size_t i : order) {
    const TensorView& tensor = tensors[i];
    const bool is_near =
        !ranges.empty() && tensor.data - ranges.back().device < ranges.back().bytes + gap;
    if (!is_near) ranges.push_back({tensor.data, bytes, 0});
    Range& range = ranges.back();
    const std::int64_t within = tensor.data - range.device;
    range.bytes = std::max(range.bytes, within + num_bytes(tensor.type));
    places[i] = range.staged + within;
    // The next range begins where any scalar may.
    constexpr std::int64_t kAlignment = 8;
    bytes = rounded_up(range.staged + range.bytes, kAlignment);
  }
}

}  // namespace meshwork
