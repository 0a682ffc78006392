#include "data/formats/element.h"

#include <algorithm>

namespace meshwork::data {

void to_native(Element element, std::int64_t count, std::byte* data) {
  if (!element.swapped) return;
  const auto size = static_cast<std::int64_t>(size_of(element.type));
  for (std::int64_t i = 0; i < count; ++i) std::reverse(data + i * size, data + (i + 1) * size);
}

}  // namespace meshwork::data
