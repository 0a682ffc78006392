#include <doctest/doctest.h>

#include "data/files.h"

using namespace meshwork;
using namespace meshwork::test;

namespace {

constexpr const char* kDescription =
    "{format: idx, splits: {train: {x: images, y: labels}}, x: {scale: 0.5, offset: 1}}";

/// Three images of 2 x 2 and their labels.
const std::string kImages = idx(8, {3, 2, 2}, std::string("\0\1\2\3\4\5\6\7\x8\x9\xA\xFF", 12));
const std::string kLabels = idx(8, {3}, std::string("\7\0\xFF", 3));

std::string failure(const TempDir& dir) {
  return error_of([&] {
    const data::Dataset opened = dataset(dir, kDescription);
    floats(opened.split("train"), "x");
    ints(opened.split("train"), "y");
  });
}

}  // namespace

TEST_CASE("idx files are read plain and packed, whatever they are called") {
  const std::vector<float> values{1, 1.5, 2, 2.5, 3, 3.5, 4, 4.5, 5, 5.5, 6, 128.5};
  const std::vector<std::int32_t> labels{7, 0, 255};
  for (const std::string suffix : {"", ".gz"}) {
    for (const bool packed : {false, true}) {
      const TempDir dir;
      dir.write("images" + suffix, packed ? gzip(kImages) : kImages);
      dir.write("labels" + suffix, packed ? gzip(kLabels) : kLabels);
      const data::Dataset opened = dataset(dir, kDescription);
      const data::Split& train = opened.split("train");
      CHECK(train.samples == 3);
      CHECK(train.find("x")->shape == Shape{2, 2});
      CHECK(train.find("y")->shape.empty());
      CHECK(floats(train, "x") == values);
      CHECK(ints(train, "y") == labels);
    }
  }
}

TEST_CASE("bytes are taken from the file where they stand, without a copy") {
  const TempDir dir;
  // Large enough to be mapped.
  dir.write("images", idx(0x08, {100'000, 1, 2}, std::string(200'000, 'a')));
  dir.write("labels", idx(0x08, {100'000}, std::string(100'000, 'b')));
  const data::Dataset opened = dataset(dir, kDescription);
  constexpr std::uintptr_t kPage = 4096;  // where a mapped file begins
  const auto place = [&](const std::string& field) {
    const std::byte* samples = opened.split("train").find(field)->source->samples();
    return reinterpret_cast<std::uintptr_t>(samples) % kPage;
  };
  CHECK(place("x") == 4 + 3 * 4);
  CHECK(place("y") == 4 + 1 * 4);
}

TEST_CASE("idx holds wider types, big-endian") {
  const TempDir dir;
  dir.write("labels", idx(0x0C, {2}, bytes_of(std::vector<std::int32_t>{-3, 70000}, true)));
  dir.write("images", idx(0x0D, {2, 1}, bytes_of(std::vector<float>{0.25F, -8.F}, true)));
  const data::Dataset opened = dataset(dir, kDescription);
  CHECK(floats(opened.split("train"), "x") == std::vector{1.125F, -3.F});
  CHECK(ints(opened.split("train"), "y") == std::vector<std::int32_t>{-3, 70000});
}

TEST_CASE("a gzip file of several members is one file") {
  const TempDir dir;
  dir.write("images", gzip(kImages.substr(0, 9)) + gzip(kImages.substr(9)));
  dir.write("labels", kLabels);
  const data::Dataset opened = dataset(dir, kDescription);
  CHECK(floats(opened.split("train"), "x").back() == 128.5F);
}

TEST_CASE("broken idx files are errors that name the file and the numbers") {
  const TempDir dir;
  const std::string images = dir.write("images", kImages);
  dir.write("labels", kLabels);
  REQUIRE(failure(dir).empty());

  dir.write("images", kImages.substr(0, 27));
  CHECK(
      contains(failure(dir),
               images + ": 27 bytes, but shape [3, 2, 2] of uint8 needs 28; the file is cut off"));
  dir.write("images", kImages + "!");
  CHECK(contains(failure(dir),
                 "29 bytes, but shape [3, 2, 2] of uint8 needs 28; the file is "
                 "damaged or has something else appended"));
  dir.write("images", "GIF89a");
  CHECK(contains(failure(dir), "magic number 0x47494638 is not that of an IDX file"));
  dir.write("images", "");
  CHECK(contains(failure(dir), "0 bytes are too few for an IDX header"));
  dir.write("images", kImages.substr(0, 10));
  CHECK(contains(failure(dir), "cut off in the IDX header of 3 dimensions"));
  dir.write("images", idx(8, {3, -2, 2}, ""));
  CHECK(contains(failure(dir), "shape [3, -2, 2] has a negative dimension"));
  dir.write("images", idx(8, {2147483647, 2147483647, 2147483647}, ""));
  CHECK(contains(failure(dir), "is more than any file can hold"));
  dir.write("images", idx(8, {0, 2, 2}, ""));
  CHECK(contains(failure(dir), images + ": shape [0, 2, 2] holds no numbers"));
  dir.write("images", idx(8, {3, 0}, ""));
  CHECK(contains(failure(dir), images + ": shape [3, 0] holds no numbers"));
  dir.write("images", kImages);
  dir.write("labels", idx(8, {2}, "\1\2"));
  CHECK(contains(failure(dir), images + ": 3 samples of 'x', but " + dir.file("labels") +
                                   " has 2 of 'y'; the files do not belong together"));
}

TEST_CASE("broken gzip files are errors when opened or at the latest when read") {
  const TempDir dir;
  dir.write("labels", kLabels);
  const std::string packed = gzip(kImages);
  dir.write("images", packed.substr(0, packed.size() - 5));
  CHECK(contains(failure(dir), "the gzip data is cut off"));
  std::string wrong_checksum = packed;
  wrong_checksum[packed.size() - 6] ^= 1;
  dir.write("images", wrong_checksum);
  CHECK(contains(failure(dir), "the gzip data is damaged"));
  dir.write("images", packed + "rubbish");
  CHECK(contains(failure(dir), "7 bytes of garbage after the gzip data"));
  dir.write("images", gzip(kImages + "12"));
  CHECK(contains(failure(dir), "30 bytes, but shape [3, 2, 2] of uint8 needs 28"));
  dir.write("images", gzip(kImages.substr(0, 20)));
  CHECK(contains(failure(dir), "20 bytes, but shape [3, 2, 2] of uint8 needs 28"));
  dir.write("images", gzip(idx(8, {2000000000, 2000, 2000}, "12")));
  CHECK(contains(failure(dir), "however compressed"));
}

TEST_CASE("only regular files are read") {
  const TempDir dir;
  dir.write("labels", kLabels);
  dir.write("images/inside", "");
  CHECK(contains(failure(dir), "found neither 'images' nor 'images.gz' in "));
  const std::string description = "{format: idx, splits: {train: {x: /dev/null, y: labels}}}";
  CHECK(contains(error_of([&] { dataset(dir, description).split("train"); }),
                 "/dev/null: not a regular file"));
}
