// Files for TensorBoard, read back by the rules of their format.
#include "train/event_file.h"

#include <doctest/doctest.h>

#include <cmath>
#include <filesystem>

#include "base/error.h"
#include "event_files.h"
#include "support/full_disk.h"
#include "support/temp_directory.h"

namespace fs = std::filesystem;

using namespace meshwork;
using namespace meshwork::testing::events;
using meshwork::test::TempDirectory;

TEST_CASE("CRC-32C is that of RFC 3720") {
  CHECK(crc32c("") == 0);
  CHECK(crc32c("123456789") == 0xe3069283U);
  CHECK(crc32c(std::string(32, '\0')) == 0x8a9136aaU);
}

TEST_CASE("scalars, on from where a file was cut") {
  const TempDirectory directory;
  std::string path;
  std::uint64_t bytes = 0;
  {
    EventFile file(directory.file("new/train"), "0a");
    file.add_scalar("epoch_loss", 0, 0.5);
    bytes = file.bytes();
    file.add_scalar("epoch_loss", 300, std::nan(""));
    path = file.path();
  }
  const std::vector<Scalar> scalars = scalars_in(path);
  REQUIRE(scalars.size() == 2);
  CHECK(scalars[0] == Scalar{"epoch_loss", 0, 0.5F});
  CHECK(scalars[1].step == 300);
  CHECK(std::isnan(scalars[1].value));
  EventFile(path, bytes).add_scalar("epoch_mae", 1, 2.0);
  CHECK(scalars_in(path) == std::vector<Scalar>{{"epoch_loss", 0, 0.5F}, {"epoch_mae", 1, 2.0F}});
}

TEST_CASE("a record that does not fit leaves nothing behind") {
  const TempDirectory directory;
  EventFile file(directory.file("train"), "0a");
  file.add_scalar("epoch_loss", 0, 0.5);
  const std::uint64_t bytes = file.bytes();
  {
    const test::FullDisk full(bytes + 20);
    CHECK_THROWS_AS(file.add_scalar("epoch_loss", 1, 0.25), Error);
  }
  CHECK(file.bytes() == bytes);
  CHECK(scalars_in(file.path()).size() == 1);
}

TEST_CASE("a file that cannot be begun is not there") {
  const TempDirectory directory;
  {
    const test::FullDisk full(3);
    CHECK_THROWS_AS(EventFile(directory.file("train"), "0a"), Error);
  }
  CHECK(fs::is_empty(directory.file("train")));
}
