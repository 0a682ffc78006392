#include "base/error.h"
#include "data/image/image.h"

namespace meshwork::data {
namespace {

[[noreturn]] void fail_kind(const std::string& name, std::span<const std::byte> file) {
  fail(ExitCode::kFile, "{}: {}; take the file away, or fetch it again", name,
       file.empty() ? "the file is empty" : "neither a PNG nor a JPEG image");
}

}  // namespace

std::string to_string(const ImageSize& size) {
  return fmt::format("{} x {}", size.height, size.width);
}

void check_image_size(const std::string& name, const ImageSize& size) {
  if (size.height < 1 || size.width < 1) {
    fail(ExitCode::kFile, "{}: {} has no pixels; is the file damaged?", name, to_string(size));
  }
  if (size.height > kMostPixels / size.width) {
    fail(ExitCode::kFile,
         "{}: {} is more than the {} pixels that an image may have; is the file damaged?", name,
         to_string(size), kMostPixels);
  }
}

ImageSize image_size(const std::string& name, std::span<const std::byte> file) {
  if (is_png(file)) return png_size(name, file);
  if (is_jpeg(file)) return jpeg_size(name, file);
  fail_kind(name, file);
}

ImageSize decode_image(const std::string& name, std::span<const std::byte> file, ColorMode mode,
                       std::vector<std::byte>& pixels) {
  if (is_png(file)) return decode_png(name, file, mode, pixels);
  if (is_jpeg(file) && mode == ColorMode::kLabels) {
    fail(ExitCode::kFile, "{}: a mask must be a PNG file: JPEG does not keep its numbers", name);
  }
  if (is_jpeg(file)) return decode_jpeg(name, file, mode, pixels);
  fail_kind(name, file);
}

void rgb_to_gray(std::vector<std::byte>& pixels) {
  const std::size_t count = pixels.size() / 3;
  for (std::size_t i = 0; i < count; ++i) {
    const auto at = [&](std::size_t c) {
      return std::to_integer<std::uint32_t>(pixels[3 * i + c]);
    };
    pixels[i] = std::byte((at(0) * 19595 + at(1) * 38470 + at(2) * 7471 + 0x8000) >> 16U);
  }
  pixels.resize(count);
}

void add_alpha(std::vector<std::byte>& pixels) {
  const std::size_t count = pixels.size() / 3;
  pixels.resize(4 * count);
  for (std::size_t i = count; i-- > 0;) {  // from the end: the new place is never before the old
    const std::byte red = pixels[3 * i];
    const std::byte green = pixels[3 * i + 1];
    const std::byte blue = pixels[3 * i + 2];
    pixels[4 * i] = red;
    pixels[4 * i + 1] = green;
    pixels[4 * i + 2] = blue;
    pixels[4 * i + 3] = std::byte{255};
  }
}

}  // namespace meshwork::data
