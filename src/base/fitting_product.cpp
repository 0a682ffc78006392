#include "base/fitting_product.h"

#include <algorithm>

namespace meshwork {

std::optional<std::int64_t> fitting_product(const Shape& extents, std::int64_t factor) {
  std::int64_t product = factor;
  bool is_empty = false;
  for (const std::int64_t extent : extents) {
    if (extent < 0 ||
        __builtin_mul_overflow(product, std::max<std::int64_t>(extent, 1), &product)) {
      return std::nullopt;
    }
    is_empty = is_empty || extent == 0;
  }
  if (product > std::int64_t{1} << 62U) return std::nullopt;
  return is_empty ? 0 : product;
}

}  // namespace meshwork
