// Decodes JPEG by libjpeg. An error inside libjpeg leaves it by longjmp, over frames of C only: in
// the functions between setjmp and the jump nothing has a destructor, and they throw nothing.
#include <cstdio>  // jpeglib.h needs it first

#include <jerror.h>
#include <jpeglib.h>

#include <algorithm>
#include <csetjmp>

#include "base/error.h"
#include "data/image/image.h"

namespace meshwork::data {
namespace {

/// A file that makes the decoder go over the image more often is refused: a few bytes of it could
/// keep the decoder busy for hours.
constexpr int kMostScans = 500;

/// libjpeg's state for one file, and what its callbacks need. Plain data.
struct Jpeg {
  jpeg_decompress_struct info;
  jpeg_error_mgr errors;
  jpeg_progress_mgr progress;
  std::jmp_buf jump;
  char message[JMSG_LENGTH_MAX];
};

extern "C" {

[[noreturn]] static void on_jpeg_error(j_common_ptr info) {
  auto* jpeg = static_cast<Jpeg*>(info->client_data);
  info->err->format_message(info, jpeg->message);
  std::longjmp(jpeg->jump, 1);
}

/// Level -1 is a warning, others are traces. libjpeg goes on after lost pixels; we do not. What it
/// says of oddities around the pixels does no harm.
static void on_jpeg_message(j_common_ptr info, int level) {
  if (level >= 0) return;
  switch (info->err->msg_code) {
    case JWRN_ADOBE_XFORM:
    case JWRN_BOGUS_PROGRESSION:
    case JWRN_EXTRANEOUS_DATA:
    case JWRN_JFIF_MAJOR:
    case JWRN_NOT_SEQUENTIAL:
    case JWRN_TOO_MUCH_DATA:
      return;
    default:
      on_jpeg_error(info);
  }
}

static void on_jpeg_output(j_common_ptr) {}

static void on_jpeg_progress(j_common_ptr info) {
  const auto* decompress = reinterpret_cast<j_decompress_ptr>(info);
  if (decompress->input_scan_number <= kMostScans) return;
  auto* jpeg = static_cast<Jpeg*>(info->client_data);
  std::snprintf(jpeg->message, sizeof jpeg->message, "more than %d scans", kMostScans);
  std::longjmp(jpeg->jump, 1);
}

}  // extern "C"

/// The functions below are false after an error.
bool start(Jpeg* jpeg, const std::byte* data, std::size_t size) {
  if (setjmp(jpeg->jump) != 0) return false;
  jpeg_create_decompress(&jpeg->info);
  jpeg->info.progress = &jpeg->progress;
  jpeg_mem_src(&jpeg->info, reinterpret_cast<const unsigned char*>(data), size);
  jpeg_read_header(&jpeg->info, TRUE);
  return true;
}

bool start_rows(Jpeg* jpeg, J_COLOR_SPACE colors) {
  if (setjmp(jpeg->jump) != 0) return false;
  jpeg->info.out_color_space = colors;
  jpeg->info.dct_method = JDCT_ISLOW;
  jpeg_start_decompress(&jpeg->info);
  return true;
}

bool read_rows(Jpeg* jpeg, unsigned char* to, std::size_t row_bytes) {
  if (setjmp(jpeg->jump) != 0) return false;
  while (jpeg->info.output_scanline < jpeg->info.output_height) {
    JSAMPROW row = to + jpeg->info.output_scanline * row_bytes;
    jpeg_read_scanlines(&jpeg->info, &row, 1);
  }
  jpeg_finish_decompress(&jpeg->info);
  return true;
}

/// In place: [.., 4] of cyan, magenta, yellow and black to [.., 3]. Adobe's programs, which write
/// most of these files, store the inverse.
void cmyk_to_rgb(std::vector<std::byte>& pixels, bool is_inverse) {
  const std::size_t count = pixels.size() / 4;
  const auto light = [&](std::size_t i) {
    const auto value = std::to_integer<unsigned>(pixels[i]);
    return is_inverse ? value : 255 - value;
  };
  for (std::size_t i = 0; i < count; ++i) {
    const unsigned key = light(4 * i + 3);
    for (std::size_t c = 0; c < 3; ++c) {
      pixels[3 * i + c] = std::byte(static_cast<unsigned char>(light(4 * i + c) * key / 255));
    }
  }
  pixels.resize(3 * count);
}

class JpegReader {
 public:
  JpegReader(const std::string& name, std::span<const std::byte> file) : name_(name) {
    jpeg_.info.err = jpeg_std_error(&jpeg_.errors);
    jpeg_.errors.error_exit = on_jpeg_error;
    jpeg_.errors.emit_message = on_jpeg_message;
    jpeg_.errors.output_message = on_jpeg_output;
    jpeg_.progress.progress_monitor = on_jpeg_progress;
    jpeg_.info.client_data = &jpeg_;
    if (!start(&jpeg_, file.data(), file.size())) {
      jpeg_destroy_decompress(&jpeg_.info);
      fail_jpeg();
    }
  }
  ~JpegReader() { jpeg_destroy_decompress(&jpeg_.info); }
  JpegReader(const JpegReader&) = delete;
  JpegReader& operator=(const JpegReader&) = delete;

  ImageSize size() const {
    const ImageSize size{jpeg_.info.image_height, jpeg_.info.image_width};
    check_image_size(name_, size);
    return size;
  }

  void rows(ColorMode mode, std::vector<std::byte>& pixels) {
    const bool is_cmyk = jpeg_.info.num_components == 4;
    const bool is_gray = mode == ColorMode::kGrayscale;
    const J_COLOR_SPACE colors = is_cmyk ? JCS_CMYK : is_gray ? JCS_GRAYSCALE : JCS_RGB;
    if (!start_rows(&jpeg_, colors)) fail_jpeg();
    const std::size_t row_bytes = static_cast<std::size_t>(jpeg_.info.output_width) *
                                  static_cast<std::size_t>(jpeg_.info.output_components);
    pixels.resize(row_bytes * jpeg_.info.output_height);
    if (!read_rows(&jpeg_, reinterpret_cast<unsigned char*>(pixels.data()), row_bytes)) fail_jpeg();
    if (is_cmyk) cmyk_to_rgb(pixels, jpeg_.info.saw_Adobe_marker);
    if (is_cmyk && is_gray) rgb_to_gray(pixels);
    if (mode == ColorMode::kRgba) add_alpha(pixels);
  }

 private:
  [[noreturn]] void fail_jpeg() const {
    fail(ExitCode::kFile, "{}: damaged JPEG image: {}; fetch the file again", name_, jpeg_.message);
  }

  const std::string& name_;
  Jpeg jpeg_{};
};

}  // namespace

bool is_jpeg(std::span<const std::byte> file) {
  return file.size() >= 3 && file[0] == std::byte{0xFF} && file[1] == std::byte{0xD8} &&
         file[2] == std::byte{0xFF};
}

ImageSize jpeg_size(const std::string& name, std::span<const std::byte> file) {
  return JpegReader(name, file).size();
}

ImageSize decode_jpeg(const std::string& name, std::span<const std::byte> file, ColorMode mode,
                      std::vector<std::byte>& pixels) {
  JpegReader reader(name, file);
  const ImageSize size = reader.size();
  reader.rows(mode, pixels);
  return size;
}

}  // namespace meshwork::data
