// Decodes PNG by libpng. An error inside libpng leaves it by longjmp, over frames of C only: in the
// functions between setjmp and the jump nothing has a destructor, and they throw nothing.
#include <png.h>

#include <algorithm>
#include <csetjmp>
#include <cstring>

#include "base/check.h"
#include "base/error.h"
#include "data/formats/deflate.h"
#include "data/image/image.h"

namespace meshwork::data {
namespace {

constexpr std::size_t kSignature = 8;

/// What libpng's callbacks see. Plain data.
struct Input {
  const std::byte* data;
  std::size_t size;
  std::size_t at;
  char message[128];
};

extern "C" {

[[noreturn]] static void on_png_error(png_structp png, png_const_charp text) {
  auto* input = static_cast<Input*>(png_get_error_ptr(png));
  std::strncpy(input->message, text, sizeof input->message - 1);
  png_longjmp(png, 1);
}

static void on_png_warning(png_structp, png_const_charp) {}

static void read_png_bytes(png_structp png, png_bytep to, std::size_t count) {
  auto* input = static_cast<Input*>(png_get_io_ptr(png));
  if (count > input->size - input->at) png_error(png, "the file is cut off");
  std::memcpy(to, input->data + input->at, count);
  input->at += count;
}

}  // extern "C"

/// Reads up to the first row and chooses what rows look like: 8 bits, the channels of the mode;
/// where grey is wanted of a coloured file, red, green and blue. False after an error.
bool read_header(png_structp png, png_infop info, ColorMode mode) {
  if (setjmp(png_jmpbuf(png)) != 0) return false;
  // The size is checked by the caller.
  png_set_user_limits(png, PNG_UINT_31_MAX, PNG_UINT_31_MAX);
  png_read_info(png, info);
  if (mode == ColorMode::kLabels) {
    png_set_packing(png);
    png_set_strip_alpha(png);
    return true;
  }
  png_set_strip_16(png);
  png_set_palette_to_rgb(png);
  png_set_expand_gray_1_2_4_to_8(png);
  if (mode == ColorMode::kRgba) {
    png_set_tRNS_to_alpha(png);
    png_set_add_alpha(png, 255, PNG_FILLER_AFTER);
  } else {
    png_set_strip_alpha(png);
  }
  if (mode != ColorMode::kGrayscale) png_set_gray_to_rgb(png);
  return true;
}

/// Reads all rows to `to`, and what follows them. False after an error.
bool read_rows(png_structp png, png_bytep to, std::size_t row_bytes, std::uint32_t height,
               int passes) {
  if (setjmp(png_jmpbuf(png)) != 0) return false;
  for (int pass = 0; pass < passes; ++pass) {
    for (std::uint32_t row = 0; row < height; ++row) {
      png_read_row(png, to + row * row_bytes, nullptr);
    }
  }
  png_read_end(png, nullptr);
  return true;
}

/// False after an error.
bool start_rows(png_structp png, png_infop info, int* passes) {
  if (setjmp(png_jmpbuf(png)) != 0) return false;
  *passes = png_set_interlace_handling(png);
  png_read_update_info(png, info);
  return true;
}

/// libpng's objects for one file.
class PngReader {
 public:
  PngReader(const std::string& name, std::span<const std::byte> file)
      : name_(name), input_{file.data(), file.size(), 0, {}} {
    png_ = png_create_read_struct(PNG_LIBPNG_VER_STRING, &input_, on_png_error, on_png_warning);
    if (png_ != nullptr) info_ = png_create_info_struct(png_);
    if (info_ == nullptr) {
      png_destroy_read_struct(&png_, nullptr, nullptr);
      fail(ExitCode::kFile, "{}: no memory to decode the image", name_);
    }
    png_set_read_fn(png_, &input_, read_png_bytes);
  }
  ~PngReader() { png_destroy_read_struct(&png_, &info_, nullptr); }
  PngReader(const PngReader&) = delete;
  PngReader& operator=(const PngReader&) = delete;

  ImageSize header(ColorMode mode) {
    if (!read_header(png_, info_, mode)) fail_png();
    const ImageSize size{png_get_image_height(png_, info_), png_get_image_width(png_, info_)};
    check_image_size(name_, size);
    if (mode == ColorMode::kLabels) check_labels();
    return size;
  }

  void rows(const ImageSize& size, ColorMode mode, std::vector<std::byte>& pixels) {
    int passes = 1;
    if (!start_rows(png_, info_, &passes)) fail_png();
    const std::size_t channels = png_get_channels(png_, info_);
    const std::size_t row_bytes = static_cast<std::size_t>(size.width) * channels;
    MW_CHECK(png_get_rowbytes(png_, info_) == row_bytes, "{}", name_);
    check_packed(size, channels);
    pixels.resize(static_cast<std::size_t>(size.height) * row_bytes);
    if (!read_rows(png_, reinterpret_cast<png_bytep>(pixels.data()), row_bytes,
                   static_cast<std::uint32_t>(size.height), passes)) {
      fail_png();
    }
    if (mode == ColorMode::kGrayscale && channels == 3) rgb_to_gray(pixels);
  }

 private:
  void check_labels() const {
    const auto type = png_get_color_type(png_, info_);
    const bool has_colors = type == PNG_COLOR_TYPE_RGB || type == PNG_COLOR_TYPE_RGB_ALPHA;
    const int bits = png_get_bit_depth(png_, info_);
    if (!has_colors && bits <= 8) return;
    fail(ExitCode::kFile,
         "{}: a mask has one number of at most 8 bits for each pixel, but this has {}; convert it",
         name_, has_colors ? "red, green and blue" : fmt::format("{} bits", bits));
  }

  /// Before memory is taken for what cannot come. A stored pixel has at least 1 / 32 of the bits
  /// that it becomes.
  void check_packed(const ImageSize& size, std::size_t channels) const {
    const auto bytes = static_cast<std::size_t>(size.height * size.width) * channels;
    if (bytes / 32 / kBestDeflateRatio > input_.size) {
      fail(ExitCode::kFile, "{}: {} bytes cannot hold {} pixels; is the file damaged?", name_,
           input_.size, to_string(size));
    }
  }

  [[noreturn]] void fail_png() const {
    fail(ExitCode::kFile, "{}: damaged PNG image: {}; fetch the file again", name_, input_.message);
  }

  const std::string& name_;
  Input input_;
  png_structp png_ = nullptr;
  png_infop info_ = nullptr;
};

}  // namespace

bool is_png(std::span<const std::byte> file) {
  return file.size() >= kSignature &&
         png_sig_cmp(reinterpret_cast<png_const_bytep>(file.data()), 0, kSignature) == 0;
}

ImageSize png_size(const std::string& name, std::span<const std::byte> file) {
  return PngReader(name, file).header(ColorMode::kRgb);
}

ImageSize decode_png(const std::string& name, std::span<const std::byte> file, ColorMode mode,
                     std::vector<std::byte>& pixels) {
  PngReader reader(name, file);
  const ImageSize size = reader.header(mode);
  reader.rows(size, mode, pixels);
  return size;
}

}  // namespace meshwork::data
