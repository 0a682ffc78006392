#pragma once

#include <cstdint>

namespace meshwork::data {

/// Deflate cannot shrink more than this, so a header that claims more is wrong.
constexpr std::uint64_t kBestDeflateRatio = 1040;

}  // namespace meshwork::data
