#include "backend/cpu/spread.h"

#include <algorithm>

#include "backend/views.h"
#include "base/check.h"

namespace meshwork::cpu {

Spread::Spread(const Shape& operand, const Shape& result) {
  const Shape strides = broadcast_strides(operand, result);
  for (std::size_t d = result.size(); d-- > 0;) {
    if (result[d] == 1) continue;
    if (!extents_.empty() && strides[d] == strides_.front() * extents_.front()) {
      extents_.front() *= result[d];
    } else {
      extents_.insert(extents_.begin(), result[d]);
      strides_.insert(strides_.begin(), strides[d]);
    }
  }
  if (extents_.empty()) {
    extents_ = {1};
    strides_ = {0};
  }
  MW_CHECK(strides_.back() <= 1, "{} to {}", to_string(operand), to_string(result));
}

std::int64_t Spread::period() const {
  const bool repeats = extents_.size() == 2 && strides_[0] == 0 && strides_[1] == 1;
  return repeats ? extents_[1] : 0;
}

void Spread::fill(const float* operand, std::int64_t begin, std::int64_t count, float* y) const {
  const std::int64_t columns = extents_.back();
  std::int64_t row = begin / columns, column = begin % columns;
  while (count > 0) {
    std::int64_t offset = 0;
    for (std::size_t d = extents_.size() - 1, rest = static_cast<std::size_t>(row); d-- > 0;) {
      const auto extent = static_cast<std::size_t>(extents_[d]);
      offset += static_cast<std::int64_t>(rest % extent) * strides_[d];
      rest /= extent;
    }
    const std::int64_t run = std::min(count, columns - column);
    if (strides_.back() == 0) {
      std::fill_n(y, run, operand[offset]);
    } else {
      std::copy_n(operand + offset + column, run, y);
    }
    y += run;
    count -= run;
    column = 0;
    ++row;
  }
}

}  // namespace meshwork::cpu
