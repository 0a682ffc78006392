#include "data/image/image.h"

#include <doctest/doctest.h>
#include <zlib.h>

#include <cstdlib>

#include "base/rng.h"
#include "data/files.h"
#include "data/image_files.h"

using namespace meshwork;
using namespace meshwork::test;
using data::ColorMode;
using data::ImageSize;

namespace {

std::span<const std::byte> bytes_in(const std::string& file) {
  return std::as_bytes(std::span(file.data(), file.size()));
}

std::string decode(const std::string& file, ColorMode mode, ImageSize expected) {
  std::vector<std::byte> pixels(3, std::byte{9});  // left over from another image
  CHECK(data::image_size("a", bytes_in(file)) == expected);
  CHECK(data::decode_image("a", bytes_in(file), mode, pixels) == expected);
  return {reinterpret_cast<const char*>(pixels.data()), pixels.size()};
}

std::string failure(const std::string& file) {
  return error_of([&] {
    std::vector<std::byte> pixels;
    data::decode_image("dir/a.png", bytes_in(file), ColorMode::kRgb, pixels);
  });
}

std::string header_failure(const std::string& file) {
  return error_of([&] { data::image_size("dir/a.png", bytes_in(file)); });
}

/// Pixels that differ by at most `most` from those expected.
bool near(const std::string& pixels, const std::string& expected, int most) {
  if (pixels.size() != expected.size()) return false;
  for (std::size_t i = 0; i < pixels.size(); ++i) {
    const auto value = static_cast<unsigned char>(pixels[i]);
    if (std::abs(value - static_cast<unsigned char>(expected[i])) > most) return false;
  }
  return true;
}

/// Writes big-endian numbers over the extents in a PNG header, and mends its checksum.
std::string with_extents(std::string file, std::uint32_t height, std::uint32_t width) {
  const auto put = [&](std::size_t at, std::uint32_t value) {
    for (int i = 0; i < 4; ++i) file[at + i] = static_cast<char>(value >> (24 - 8 * i));
  };
  put(16, width);
  put(20, height);
  put(29,
      static_cast<std::uint32_t>(crc32(0, reinterpret_cast<const Bytef*>(file.data()) + 12, 17)));
  return file;
}

const std::string kRgb("\1\2\3\4\5\6\7\10\11\200\201\202\375\376\377\0\0\0", 18);  // [2, 3, 3]

}  // namespace

TEST_CASE("png of every kind in every color mode") {
  const ImageSize size{2, 3};
  for (const bool interlaced : {false, true}) {
    const std::string rgb =
        png(2, 3, kRgb, {.interlaced = interlaced, .palette = {}, .transparency = {}});
    CHECK(decode(rgb, ColorMode::kRgb, size) == kRgb);
    // (299 r + 587 g + 114 b) / 1000
    CHECK(decode(rgb, ColorMode::kGrayscale, size) == std::string("\2\5\10\201\376\0", 6));
    const std::string opaque = decode(rgb, ColorMode::kRgba, size);
    CHECK(opaque.size() == 24);
    CHECK(opaque.substr(0, 8) == "\1\2\3\377\4\5\6\377");
  }
  const std::string gray =
      png(2, 3, "abcdef", {.color_type = 0, .palette = {}, .transparency = {}});
  CHECK(decode(gray, ColorMode::kGrayscale, size) == "abcdef");
  CHECK(decode(gray, ColorMode::kRgb, size) == "aaabbbcccdddeeefff");
  CHECK(decode(gray, ColorMode::kRgba, size).substr(0, 8) == "aaa\377bbb\377");

  const std::string two = png(1, 2, "a\1b\2", {.color_type = 4, .palette = {}, .transparency = {}});
  CHECK(decode(two, ColorMode::kGrayscale, {1, 2}) == "ab");
  CHECK(decode(two, ColorMode::kRgb, {1, 2}) == "aaabbb");
  CHECK(decode(two, ColorMode::kRgba, {1, 2}) == "aaa\1bbb\2");
  const std::string four =
      png(1, 2, "abc\1def\2", {.color_type = 6, .palette = {}, .transparency = {}});
  CHECK(decode(four, ColorMode::kRgb, {1, 2}) == "abcdef");
  CHECK(decode(four, ColorMode::kRgba, {1, 2}) == "abc\1def\2");

  // Pixels 1, 0, 2 and 2 of 4 colours, of 2 bits each.
  const PngKind palette{
      .color_type = 3, .bit_depth = 2, .palette = "abcdefghi", .transparency = "\7"};
  const std::string indexed = png(1, 4, std::string("\x4A"), palette);
  CHECK(decode(indexed, ColorMode::kRgb, {1, 4}) == "defabcghighi");
  CHECK(decode(indexed, ColorMode::kRgba, {1, 4}) == "def\377abc\7ghi\377ghi\377");
  CHECK(decode(indexed, ColorMode::kGrayscale, {1, 4}) == "ebhh");

  const std::string bits =
      png(1, 3, "\xA0", {.color_type = 0, .bit_depth = 1, .palette = {}, .transparency = {}});
  CHECK(decode(bits, ColorMode::kGrayscale, {1, 3}) == std::string("\377\0\377", 3));
  const std::string wide =
      png(1, 2, "a\377b\1", {.color_type = 0, .bit_depth = 16, .palette = {}, .transparency = {}});
  CHECK(decode(wide, ColorMode::kGrayscale, {1, 2}) == "ab");

  // Labels are the numbers that the file has.
  CHECK(decode(gray, ColorMode::kLabels, size) == "abcdef");
  CHECK(decode(two, ColorMode::kLabels, {1, 2}) == "ab");
  CHECK(decode(indexed, ColorMode::kLabels, {1, 4}) == std::string("\1\0\2\2", 4));
  CHECK(decode(bits, ColorMode::kLabels, {1, 3}) == std::string("\1\0\1", 3));
  const auto no_labels = [](const std::string& file) {
    std::vector<std::byte> pixels;
    return error_of(
        [&] { data::decode_image("m.png", bytes_in(file), ColorMode::kLabels, pixels); });
  };
  CHECK(no_labels(four) ==
        "m.png: a mask has one number of at most 8 bits for each pixel, but this has red, green "
        "and blue; convert it");
  CHECK(contains(no_labels(wide), "but this has 16 bits; convert it"));
  CHECK(no_labels(jpeg(8, 8, 1, smooth_pixels(8, 8, 1))) ==
        "m.png: a mask must be a PNG file: JPEG does not keep its numbers");
}

TEST_CASE("jpeg, baseline and progressive, grey, coloured and for print") {
  const ImageSize size{13, 17};
  const std::string rgb = smooth_pixels(13, 17, 3);
  const std::string gray = smooth_pixels(13, 17, 1);
  for (const bool progressive : {false, true}) {
    const std::string file = jpeg(13, 17, 3, rgb, progressive);
    CHECK(near(decode(file, ColorMode::kRgb, size), rgb, 3));
    std::string expected;
    for (std::size_t i = 0; i < rgb.size(); i += 3) {
      const auto at = [&](std::size_t c) { return static_cast<unsigned char>(rgb[i + c]); };
      expected += static_cast<char>((299 * at(0) + 587 * at(1) + 114 * at(2) + 500) / 1000);
    }
    CHECK(near(decode(file, ColorMode::kGrayscale, size), expected, 3));
    const std::string four = decode(file, ColorMode::kRgba, size);
    CHECK(four.size() == 13 * 17 * 4);
    CHECK(four.substr(4 * 16, 3) == decode(file, ColorMode::kRgb, size).substr(3 * 16, 3));
    CHECK(four[3] == '\377');

    const std::string one = jpeg(13, 17, 1, gray, progressive);
    CHECK(near(decode(one, ColorMode::kGrayscale, size), gray, 2));
    CHECK(near(decode(one, ColorMode::kRgb, size).substr(0, 3), std::string(3, gray[0]), 2));
  }
  std::string cmyk;  // as Adobe stores it: 255 for no ink
  std::string expected;
  for (int i = 0; i < 64; ++i) {
    cmyk += {'\310', '\144', '\62', '\200'};
    expected += {'\144', '\62', '\31'};  // 200, 100 and 50 times 128 / 255
  }
  CHECK(near(decode(jpeg(8, 8, 4, cmyk), ColorMode::kRgb, {8, 8}), expected, 3));
  CHECK(decode(jpeg(8, 8, 4, cmyk), ColorMode::kGrayscale, {8, 8}).size() == 64);
}

TEST_CASE("files that are no images, and images that cannot be") {
  CHECK(failure("") == "dir/a.png: the file is empty; take the file away, or fetch it again");
  CHECK(
      contains(failure("hello"), "dir/a.png: neither a PNG nor a JPEG image; take the file away"));
  CHECK(contains(header_failure("GIF89a"), "neither a PNG nor a JPEG image"));
  const std::string good = png(2, 3, kRgb);
  CHECK(failure(good).empty());
  CHECK(contains(failure(good.substr(0, 20)),
                 "dir/a.png: damaged PNG image: the file is cut off; fetch the file again"));
  CHECK(contains(failure(good.substr(0, good.size() - 1)), "the file is cut off"));
  CHECK(contains(header_failure(with_extents(good, 0x7FFFFFFF, 1)),
                 "2147483647 x 1 is more than the 268435456 pixels that an image may have"));
  CHECK(contains(header_failure(with_extents(good, 20000, 20000)), "20000 x 20000 is more than"));
  CHECK(contains(failure(with_extents(good, 10000, 20000)),
                 "bytes cannot hold 10000 x 20000 pixels"));
  CHECK(contains(failure(with_extents(good, 3, 3)), "damaged PNG image: "));
  CHECK(contains(failure(with_extents(good, 0, 3)), "damaged PNG image: "));
  std::string flipped = good;
  flipped[good.size() - 20] ^= 1;
  CHECK(contains(failure(flipped), "damaged PNG image: "));

  const std::string photo = jpeg(13, 17, 3, smooth_pixels(13, 17, 3));
  CHECK(failure(photo).empty());
  CHECK(
      contains(failure(photo.substr(0, photo.size() / 2)),
               "dir/a.png: damaged JPEG image: Premature end of JPEG file; fetch the file again"));
  CHECK(contains(failure("\xFF\xD8\xFF\xD9"), "damaged JPEG image: "));
  // What does not touch the pixels does no harm.
  std::string odd = photo;
  odd.insert(photo.size() - 2, "xyz");
  CHECK(failure(odd).empty());
}

TEST_CASE("damaged images are decoded or refused, and never more than that") {
  const std::vector<std::string> files{
      png(9, 7, smooth_pixels(9, 7, 3)),
      png(9, 7, smooth_pixels(9, 7, 4),
          {.color_type = 6, .interlaced = true, .palette = {}, .transparency = {}}),
      png(3, 4, "\x4A\x4A\x4A",
          {.color_type = 3, .bit_depth = 2, .palette = "abcdefghi", .transparency = "\7"}),
      jpeg(9, 11, 3, smooth_pixels(9, 11, 3)),
      jpeg(9, 11, 1, smooth_pixels(9, 11, 1), true),
      jpeg(9, 11, 4, smooth_pixels(9, 11, 4)),
  };
  std::vector<std::byte> pixels;
  const auto decodes = [&](const std::string& bytes, ColorMode mode) {
    try {
      const ImageSize size = data::decode_image("f", bytes_in(bytes), mode, pixels);
      CHECK(static_cast<std::int64_t>(pixels.size()) ==
            size.height * size.width * data::channels_of(mode));
      return true;
    } catch (const Error& error) {
      CHECK(error.code() == ExitCode::kFile);
      CHECK(std::string(error.what()).size() > 10);
      return false;
    }
  };
  for (const std::string& file : files) {
    for (const ColorMode mode : {ColorMode::kGrayscale, ColorMode::kRgb, ColorMode::kRgba}) {
      CHECK(decodes(file, mode));
    }
    for (std::size_t length = 0; length < file.size(); ++length) {
      CHECK_FALSE(decodes(file.substr(0, length), ColorMode::kRgb));
    }
    for (std::uint64_t trial = 0; trial < 400; ++trial) {
      const auto bits = philox(43, trial, 0);
      std::string damaged = file;
      damaged[bits[0] % file.size()] = static_cast<char>(bits[1]);
      if (bits[2] % 2 == 0)
        damaged[bits[3] % file.size()] ^= static_cast<char>(1U << (bits[2] >> 29U));
      decodes(damaged, trial % 3 == 0   ? ColorMode::kGrayscale
                       : trial % 3 == 1 ? ColorMode::kLabels
                                        : ColorMode::kRgba);
    }
  }
}
