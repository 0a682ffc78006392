#include "data/formats/gunzip.h"

#include <doctest/doctest.h>

#include "base/rng.h"
#include "data/files.h"

using namespace meshwork;
using namespace meshwork::test;

namespace {

/// Bytes that pack to less, to as much, or to nearly nothing, by turns.
std::string text_of(std::uint64_t seed, std::size_t size) {
  std::string text;
  for (std::uint64_t i = 0; text.size() < size; ++i) {
    const auto bits = philox(seed, i / 64, i % 64);
    if (seed % 3 == 0) text += static_cast<char>(bits[0]);
    if (seed % 3 == 1) text += "word number " + std::to_string(bits[0] % 50) + "; ";
    if (seed % 3 == 2) text += std::string(bits[0] % 4000, static_cast<char>(bits[1]));
  }
  return text.substr(0, size);
}

std::string unpacked(const std::string& path, std::size_t size, std::size_t chunk) {
  const data::MappedFile file(path);
  std::string out(size, '?');
  out.resize(data::gunzip(file, std::as_writable_bytes(std::span(out)), chunk));
  return out;
}

}  // namespace

TEST_CASE("gzip members are unpacked whatever the pieces in which they are read") {
  const TempDir dir;
  std::string packed;
  std::string expected;
  for (std::uint64_t member = 0; member < 24; ++member) {
    const std::string text = text_of(member, philox(1, member, 0)[0] % 3000);
    packed += gzip(text);
    expected += text;
  }
  const std::string path = dir.write("packed", packed);
  for (const std::size_t chunk : {1, 2, 7, 8, 9, 61, 1000, 100000}) {
    CAPTURE(chunk);
    CHECK(unpacked(path, expected.size() + 1, chunk) == expected);
    CHECK(unpacked(path, 1000, chunk) == expected.substr(0, 1000));
  }
  CHECK(data::gunzip_size(data::MappedFile(path)) == expected.size());
}

TEST_CASE("distances reach back over pieces, and over the buffer of gunzip_size") {
  const TempDir dir;
  const std::string far = text_of(0, 30000);  // cannot be packed, but for being there before
  std::string text;
  for (int i = 0; i < 40; ++i) text += far;
  const std::string packed = gzip(text);
  REQUIRE(packed.size() < text.size() / 10);
  const std::string path = dir.write("packed", packed);
  CHECK(unpacked(path, text.size() + 1, 4096) == text);
  CHECK(data::gunzip_size(data::MappedFile(path)) == text.size());
}

TEST_CASE("a gzip file that ends anywhere too early is an error") {
  const TempDir dir;
  const std::string whole = gzip(text_of(1, 2000)) + gzip(text_of(0, 50));
  const std::size_t first = gzip(text_of(1, 2000)).size();
  for (std::size_t size = 2; size < whole.size(); ++size) {
    if (size == first) continue;  // a whole file of one member
    CAPTURE(size);
    const std::string path = dir.write("cut", whole.substr(0, size));
    const std::string message = error_of([&] { unpacked(path, 5000, 100); });
    const bool garbage = size == first + 1;  // one byte does not tell of a next member
    CHECK(contains(message, garbage ? path + ": 1 bytes of garbage after the gzip data"
                                    : path + ": the gzip data is cut off; fetch the file again"));
  }
}

TEST_CASE("what can be wrong in gzip data is named") {
  const TempDir dir;
  const std::string whole = gzip(text_of(1, 500));
  const auto message = [&](std::size_t at, char value) {
    std::string damaged = whole;
    damaged[at] = value;
    const std::string path = dir.write("damaged", damaged);
    return error_of([&] { unpacked(path, 1000, data::kGzipChunk); });
  };
  CHECK(contains(message(2, 9), "the gzip data is damaged (unknown compression method)"));
  CHECK(contains(message(10, 7), "the gzip data is damaged (invalid block)"));
  CHECK(contains(message(whole.size() - 8, whole[whole.size() - 8] + 1),
                 "the gzip data is damaged (incorrect checksum)"));
  CHECK(contains(message(whole.size() - 1, 1), "the gzip data is damaged (incorrect checksum)"));
}

TEST_CASE("bytes of a mapped file that were forgotten are read again") {
  const TempDir dir;
  const std::string text = text_of(1, 20000);
  const data::MappedFile file(dir.write("file", text));
  for (const std::size_t count : {0, 1, 5000, 20000, 99999}) {
    file.forget(count);
    CHECK(std::equal(text.begin(), text.end(), reinterpret_cast<const char*>(file.bytes().data())));
  }
}
