#include "base/unbuffered_writer.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <string>
#include <vector>

#include "support/errors.h"
#include "support/file_size_limit.h"
#include "support/temp_directory.h"

namespace meshwork {
namespace {

constexpr std::size_t kMiB = std::size_t{1} << 20U;

std::string text_of(std::size_t bytes) {
  std::string text(bytes, ' ');
  for (std::size_t i = 0; i < bytes; ++i) text[i] = static_cast<char>('a' + i % 23 + i / 4096 % 3);
  return text;
}

/// Writes the text in pieces of this size, and says what is in the file then.
std::string written(const std::string& path, const std::string& text, std::size_t piece) {
  UnbufferedWriter writer(path);
  for (std::size_t at = 0; at < text.size(); at += piece) {
    REQUIRE(writer.size() == at);
    writer.append(text.data() + at, std::min(piece, text.size() - at));
  }
  writer.finish();
  return read_text_file(path);
}

TEST_CASE("a file written past the cache has all bytes, whatever its size") {
  const test::TempDirectory directory;
  std::vector<std::string> places{directory.file("file")};
  // A file system that knows no writing past the cache.
  if (std::filesystem::exists("/dev/shm")) places.push_back(partial_name("/dev/shm/meshwork_test"));
  for (const std::string& path : places) {
    for (const std::size_t bytes : {std::size_t{0}, std::size_t{1}, std::size_t{4095},
                                    std::size_t{4096}, 8 * kMiB, 8 * kMiB + 1, 19 * kMiB - 3}) {
      const std::string text = text_of(bytes);
      // Compared here, for a text of megabytes is nothing to print.
      const bool same = written(path, text, 3 * kMiB + 5) == text;
      CHECK_MESSAGE(same, path, ": ", bytes, " bytes");
    }
    CHECK(written(path, text_of(5), 2) == text_of(5));  // shorter than what was there
    std::filesystem::remove(path);
  }
}

TEST_CASE("a file takes parts that are no whole pages behind those that are") {
  const test::TempDirectory directory;
  const std::string path = directory.file("file");
  alignas(4096) static char page[8192];
  std::fill(std::begin(page), std::end(page), 'x');
  File file = File::create_unbuffered(path);
  file.write_at(page, 4096, 0);
  file.write_at(page, 8192, 4096);
  file.write_at(page + 1, 4096, 12288);
  file.write_at("end", 3, 16384);
  file.write_at(page, 4096, 16387);
  file.close();
  CHECK(read_text_file(path) == std::string(16384, 'x') + "end" + std::string(4096, 'x'));
}

TEST_CASE("a full disk is an error of the writer, in a block and at the end") {
  const test::TempDirectory directory;
  const std::string path = directory.file("file");
  const std::string text = text_of(9 * kMiB);
  const std::string error = "3: " + path + ": cannot write: File too large";
  {
    UnbufferedWriter writer(path);
    const test::FileSizeLimit limit(5000);
    CHECK(test::error_of([&] { writer.append(text.data(), text.size()); }) == error);
  }
  UnbufferedWriter writer(path);
  writer.append(text.data(), text.size());
  const test::FileSizeLimit limit(8 * kMiB + 100);
  CHECK(test::error_of([&] { writer.finish(); }) == error);
  CHECK(test::error_of([&] { UnbufferedWriter(directory.file("none/file")); }) ==
        "3: " + directory.file("none/file") + ": cannot create: No such file or directory");
}

}  // namespace
}  // namespace meshwork
