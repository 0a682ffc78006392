#pragma once

#include <cstddef>
#include <cstdint>

namespace meshwork::data {

/// Rows one after the other to panels one after the other: panel p has part p of every row.
/// `row_bytes` is a multiple of `panels`.
void copy_to_panels(const std::byte* rows, std::int64_t count, std::int64_t row_bytes,
                    std::int64_t panels, std::byte* out);

}  // namespace meshwork::data
