#include "base/file.h"

#include <doctest/doctest.h>
#include <sys/stat.h>

#include <filesystem>
#include <vector>

#include "base/local_work.h"
#include "support/errors.h"
#include "support/file_size_limit.h"
#include "support/temp_directory.h"

namespace meshwork {
namespace {

TEST_CASE("what is written at a place is read from it, beyond 4 GiB, too") {
  const test::TempDirectory directory;
  const std::string path = directory.file("sparse");
  const std::uint64_t far = (std::uint64_t{1} << 32U) + 5;
  {
    File file = File::create(path);
    file.resize(far + 4);
    file.write_at("abcd", 4, far);
    file.write_at("xy", 2, 1);
    file.sync();
    file.close();
  }
  const File file = File::open(path);
  CHECK(file.size() == far + 4);
  std::string text(4, ' ');
  file.read_at(text.data(), 4, far);
  CHECK(text == "abcd");
  file.read_at(text.data(), 4, 0);
  CHECK(text == std::string("\0xy\0", 4));
  file.read_at(nullptr, 0, far + 99);  // nothing is always there
  CHECK(test::error_of([&] { file.read_at(text.data(), 4, far + 1); }) ==
        "3: " + path + ": cannot read 1 bytes at 4294967305: the file ends");
}

TEST_CASE("a write that the system cuts short goes on, and ends in an error when it cannot") {
  const test::TempDirectory directory;
  const std::string path = directory.file("short");
  const std::string text(200, 'x');
  File at = File::create(path);
  File appended = File::create(directory.file("appended"));
  {
    const test::FileSizeLimit limit(100);
    CHECK(test::error_of([&] { at.write_at(text.data(), text.size(), 0); }) ==
          "3: " + path + ": cannot write: File too large");
    CHECK(test::contains(test::error_of([&] { appended.append(text); }), "File too large"));
    CHECK(test::error_of([&] { at.resize(101); }) ==
          "3: " + path + ": cannot make a file of 101 bytes: File too large");
  }
  CHECK(at.size() == 100);
  CHECK(appended.size() == 100);
}

TEST_CASE("what moves much, or waits for the disk, is local work") {
  const test::TempDirectory directory;
  const std::string path = directory.file("work");
  std::string text(std::size_t{1} << 20U, 'x');
  const std::uint64_t before = local_work().done;
  File file = File::create(path);
  file.write_at(text.data(), 100, 0);
  CHECK(local_work().done == before);
  file.write_at(text.data(), text.size(), 0);
  CHECK(local_work().done == before + 1);
  file.sync();
  File::open(path).read_at(text.data(), text.size(), 0);
  CHECK(local_work().done == before + 3);
  CHECK(test::error_of([&] { File::open(path).read_at(text.data(), text.size(), 1); }) != "");
  CHECK(local_work().done == before + 4);
  File::open_to_append(path).append(text);
  CHECK(local_work().done == before + 5);
  CHECK_FALSE(local_work().under_way);
}

TEST_CASE("only regular files are opened for reading, and a pipe is not waited for") {
  const test::TempDirectory directory;
  const std::string pipe = directory.file("pipe");
  CHECK(mkfifo(pipe.c_str(), 0600) == 0);
  CHECK(test::error_of([&] { File::open(pipe); }) == "3: " + pipe + ": not a regular file");
  CHECK(test::error_of([&] { File::open(directory.path()); }) ==
        "3: " + directory.path() + ": not a regular file");
  CHECK(test::error_of([&] { File::open(directory.file("absent")); }) ==
        "3: " + directory.file("absent") + ": cannot open: No such file or directory");
  CHECK(test::error_of([&] { File::open_to_write(directory.file("absent")); }) ==
        "3: " + directory.file("absent") + ": cannot open to write: No such file or directory");
}

TEST_CASE("open_to_append makes a file, and adds to the one that is there") {
  const test::TempDirectory directory;
  const std::string path = directory.file("log.csv");
  File::open_to_append(path).append("a\n");
  {
    File file = File::open_to_append(path);
    CHECK(file.size() == 2);
    file.append("b\n");
    file.append("c\n");
  }
  CHECK(test::read_text(path) == "a\nb\nc\n");
  CHECK(test::error_of([&] { File::open_to_append(directory.path()); }) ==
        "3: " + directory.path() + ": cannot open to write: Is a directory");
}

TEST_CASE("replace_file leaves the old text or the new, and nothing beside it") {
  const test::TempDirectory directory;
  const std::string path = directory.file("config.yaml");
  replace_file(path, "old\n");
  replace_file(path, "new\n");
  CHECK(partial_name(path) != partial_name(path));
  CHECK(test::read_text(path) == "new\n");
  {
    const test::FileSizeLimit limit(10);
    CHECK(test::contains(test::error_of([&] { replace_file(path, std::string(11, 'x')); }),
                         "File too large"));
  }
  CHECK(test::read_text(path) == "new\n");
  CHECK_FALSE(directory.has_partial_files());
  CHECK(test::contains(test::error_of([&] { replace_file(directory.path(), "x"); }),
                       ": not a regular file, which alone can be replaced"));
}

TEST_CASE("a file is replaced behind symbolic links, and what is none is left alone") {
  const test::TempDirectory directory;
  std::filesystem::create_directory(directory.file("far"));
  std::filesystem::create_symlink("far/next", directory.file("link"));
  std::filesystem::create_symlink("../file", directory.file("far/next"));
  for (const char* text : {"first", "second"}) {
    replace_file(directory.file("link"), text);
    CHECK(test::read_text(directory.file("file")) == text);
  }
  CHECK(std::filesystem::is_symlink(directory.file("link")));
  CHECK(std::filesystem::is_symlink(directory.file("far/next")));
  const std::string loop = directory.file("loop"), pipe = directory.file("pipe");
  std::filesystem::create_symlink("loop", loop);
  CHECK(test::error_of([&] { replace_file(loop, ""); }) ==
        "3: " + loop + ": cannot write: Too many levels of symbolic links");
  REQUIRE(mkfifo(pipe.c_str(), 0600) == 0);
  for (const std::string& path : {pipe, std::string("/dev/null")}) {
    CHECK(test::error_of([&] { replace_file(path, ""); }) ==
          "3: " + path + ": not a regular file, which alone can be replaced; name another");
  }
  CHECK(std::filesystem::is_character_file("/dev/null"));
}

TEST_CASE("what cannot be removed is an error") {
  const test::TempDirectory directory;
  std::filesystem::create_directories(directory.file("a/b"));
  remove_path(directory.file("a"));
  CHECK_FALSE(std::filesystem::exists(directory.file("a")));
  remove_path(directory.file("a"));
  CHECK(test::error_of([] {
          remove_path("/proc/self/comm");
        }).starts_with("3: /proc/self/comm: cannot remove: "));
}

}  // namespace
}  // namespace meshwork
