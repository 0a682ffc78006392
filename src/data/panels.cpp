#include "data/panels.h"

#include <cstring>

#include "base/check.h"

namespace meshwork::data {

void copy_to_panels(const std::byte* rows, std::int64_t count, std::int64_t row_bytes,
                    std::int64_t panels, std::byte* out) {
  MW_CHECK(panels > 0 && row_bytes % panels == 0, "{} panels of {} bytes", panels, row_bytes);
  if (panels == 1) {
    row_bytes *= count;  // as one
    count = 1;
  }
  const std::int64_t bytes = row_bytes / panels;
  if (bytes == 0) return;
  for (std::int64_t panel = 0; panel < panels; ++panel) {
    for (std::int64_t row = 0; row < count; ++row, out += bytes) {
      std::memcpy(out, rows + row * row_bytes + panel * bytes, static_cast<std::size_t>(bytes));
    }
  }
}

}  // namespace meshwork::data
