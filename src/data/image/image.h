#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace meshwork::data {

/// How many channels an image is given, and which. Of kLabels a pixel is one number, as the file
/// has it: a grey value, or a place in the palette.
enum class ColorMode { kLabels, kGrayscale, kRgb, kRgba };

constexpr std::int64_t channels_of(ColorMode mode) {
  return mode == ColorMode::kRgb ? 3 : mode == ColorMode::kRgba ? 4 : 1;
}

struct ImageSize {
  std::int64_t height = 0;
  std::int64_t width = 0;
  bool operator==(const ImageSize&) const = default;
};

/// "28 x 32", height first.
std::string to_string(const ImageSize& size);

/// Images with more pixels are refused: a few bytes of a damaged file may claim any size.
constexpr std::int64_t kMostPixels = std::int64_t{1} << 28;

/// Throws Error unless there are pixels, and at most kMostPixels. `name` begins the errors.
void check_image_size(const std::string& name, const ImageSize& size);

/// What the header of a PNG or JPEG file says; the kind is told by the first bytes. All functions
/// throw Error with ExitCode::kFile that begins with `name` if the file is damaged, or no image.
ImageSize image_size(const std::string& name, std::span<const std::byte> file);

/// Decodes to bytes [height, width, channels] in `pixels`, whose memory is reused. Transparency is
/// dropped where the mode has none, and 255 where the file has none; 16 bits become 8. Of kLabels,
/// only PNG files of one channel, of 8 bits or less, are no Error.
ImageSize decode_image(const std::string& name, std::span<const std::byte> file, ColorMode mode,
                       std::vector<std::byte>& pixels);

bool is_png(std::span<const std::byte> file);
bool is_jpeg(std::span<const std::byte> file);
ImageSize png_size(const std::string& name, std::span<const std::byte> file);
ImageSize jpeg_size(const std::string& name, std::span<const std::byte> file);
ImageSize decode_png(const std::string& name, std::span<const std::byte> file, ColorMode mode,
                     std::vector<std::byte>& pixels);
ImageSize decode_jpeg(const std::string& name, std::span<const std::byte> file, ColorMode mode,
                      std::vector<std::byte>& pixels);

/// In place: [.., 3] to [.., 1], ITU-R 601 luma as PIL computes it.
void rgb_to_gray(std::vector<std::byte>& pixels);
/// In place: [.., 3] to [.., 4], opaque.
void add_alpha(std::vector<std::byte>& pixels);

}  // namespace meshwork::data
