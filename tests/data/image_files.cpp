#include "data/image_files.h"

#include <doctest/doctest.h>
#include <png.h>

#include <cstdio>  // jpeglib.h needs it first
#include <cstdlib>

#include <jpeglib.h>

namespace meshwork::test {
namespace {

void append_bytes(png_structp png, png_bytep bytes, std::size_t count) {
  static_cast<std::string*>(png_get_io_ptr(png))->append(reinterpret_cast<char*>(bytes), count);
}

void no_flush(png_structp) {}

std::vector<png_color> colors_of(const std::string& palette) {
  std::vector<png_color> colors;
  for (std::size_t i = 0; i + 2 < palette.size(); i += 3) {
    colors.push_back({static_cast<png_byte>(palette[i]), static_cast<png_byte>(palette[i + 1]),
                      static_cast<png_byte>(palette[i + 2])});
  }
  return colors;
}

}  // namespace

std::string png(std::uint32_t height, std::uint32_t width, const std::string& rows,
                const PngKind& kind) {
  std::string file;
  png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, nullptr, nullptr, nullptr);
  png_infop info = png_create_info_struct(png);
  REQUIRE(info != nullptr);
  png_set_write_fn(png, &file, append_bytes, no_flush);
  png_set_IHDR(png, info, width, height, kind.bit_depth, kind.color_type,
               kind.interlaced ? PNG_INTERLACE_ADAM7 : PNG_INTERLACE_NONE,
               PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
  const std::vector<png_color> colors = colors_of(kind.palette);
  if (!colors.empty()) png_set_PLTE(png, info, colors.data(), static_cast<int>(colors.size()));
  if (!kind.transparency.empty()) {
    png_set_tRNS(png, info, reinterpret_cast<png_const_bytep>(kind.transparency.data()),
                 static_cast<int>(kind.transparency.size()), nullptr);
  }
  png_write_info(png, info);
  REQUIRE(rows.size() == png_get_rowbytes(png, info) * height);
  std::vector<png_bytep> pointers;
  for (std::uint32_t i = 0; i < height; ++i) {
    pointers.push_back(reinterpret_cast<png_bytep>(const_cast<char*>(rows.data())) +
                       i * png_get_rowbytes(png, info));
  }
  png_write_image(png, pointers.data());
  png_write_end(png, nullptr);
  png_destroy_write_struct(&png, &info);
  return file;
}

std::string jpeg(std::uint32_t height, std::uint32_t width, int components,
                 const std::string& pixels, bool progressive) {
  jpeg_compress_struct info{};
  jpeg_error_mgr errors{};
  info.err = jpeg_std_error(&errors);
  jpeg_create_compress(&info);
  unsigned char* bytes = nullptr;
  unsigned long size = 0;  // NOLINT: libjpeg's type
  jpeg_mem_dest(&info, &bytes, &size);
  info.image_height = height;
  info.image_width = width;
  info.input_components = components;
  info.in_color_space = components == 1 ? JCS_GRAYSCALE : components == 3 ? JCS_RGB : JCS_CMYK;
  jpeg_set_defaults(&info);
  jpeg_set_quality(&info, 100, TRUE);
  for (int i = 0; i < info.num_components; ++i) {
    info.comp_info[i].h_samp_factor = info.comp_info[i].v_samp_factor = 1;
  }
  if (progressive) jpeg_simple_progression(&info);
  jpeg_start_compress(&info, TRUE);
  const std::size_t row_bytes = static_cast<std::size_t>(width) * static_cast<unsigned>(components);
  REQUIRE(pixels.size() == height * row_bytes);
  while (info.next_scanline < height) {
    JSAMPROW row = reinterpret_cast<JSAMPROW>(const_cast<char*>(pixels.data())) +
                   info.next_scanline * row_bytes;
    jpeg_write_scanlines(&info, &row, 1);
  }
  jpeg_finish_compress(&info);
  jpeg_destroy_compress(&info);
  const std::string file(reinterpret_cast<char*>(bytes), size);
  std::free(bytes);
  return file;
}

std::string smooth_pixels(std::uint32_t height, std::uint32_t width, int channels, int shift) {
  std::string pixels;
  for (std::uint32_t i = 0; i < height; ++i) {
    for (std::uint32_t j = 0; j < width; ++j) {
      for (int c = 0; c < channels; ++c) {
        pixels += static_cast<char>(20 + shift + static_cast<int>(5 * i + 3 * j) + 40 * c);
      }
    }
  }
  return pixels;
}

}  // namespace meshwork::test
