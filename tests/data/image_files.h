#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace meshwork::test {

/// What kind of PNG file libpng writes.
struct PngKind {
  int color_type = 2;  ///< of libpng: 0 grey, 2 rgb, 3 palette, 4 grey and alpha, 6 rgb and alpha
  int bit_depth = 8;
  bool interlaced = false;
  std::string palette;       ///< red, green, blue of each entry
  std::string transparency;  ///< alpha of each palette entry
};

/// A PNG file; `rows` are its bytes as stored, row by row.
std::string png(std::uint32_t height, std::uint32_t width, const std::string& rows,
                const PngKind& kind = {});

/// A JPEG file of the best quality; `components`: 1 grey, 3 rgb, 4 cmyk as Adobe stores it.
std::string jpeg(std::uint32_t height, std::uint32_t width, int components,
                 const std::string& pixels, bool progressive = false);

/// Smooth pixels [height, width, channels] that a JPEG file can hold well.
std::string smooth_pixels(std::uint32_t height, std::uint32_t width, int channels, int shift = 0);

}  // namespace meshwork::test
