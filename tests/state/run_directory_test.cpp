#include "state/run_directory.h"

#include <doctest/doctest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "support/errors.h"
#include "support/temp_directory.h"

namespace meshwork {
namespace {

TEST_CASE("a run directory is made with its parents, holds the configuration, can be used again") {
  const test::TempDirectory directory;
  const std::string run = directory.file("runs/deep/guide");
  create_run_directory(run, "seed: 1\n");
  CHECK(test::read_text(run + "/config.yaml") == "seed: 1\n");
  test::write_text(run + "/metrics.csv", "epoch\n");
  create_run_directory(run, "seed: 2\n");
  CHECK(test::read_text(run + "/config.yaml") == "seed: 2\n");
  CHECK(test::read_text(run + "/metrics.csv") == "epoch\n");
}

TEST_CASE("a place where nothing can be written is refused") {
  const test::TempDirectory directory;
  const std::string way_out = "; set run_directory to a place that can be written";
  const std::string file = directory.file("file");
  test::write_text(file, "text");
  CHECK(test::error_of([&] { create_run_directory(file + "/run", ""); }) ==
        "3: " + file + "/run: cannot create the run directory: Not a directory" + way_out);
  const std::string in_place = test::error_of([&] { create_run_directory(file, ""); });
  CHECK(in_place.starts_with("3: " + file + ": "));
  CHECK(in_place.ends_with(way_out));
  CHECK(test::read_text(file) == "text");
  CHECK(test::error_of([&] { create_run_directory("", ""); }) ==
        "3: run_directory is empty" + way_out);
  if (geteuid() != 0) {  // to root nothing is forbidden
    const std::string closed = directory.file("closed");
    CHECK(mkdir(closed.c_str(), 0500) == 0);
    CHECK(test::error_of([&] { create_run_directory(closed, ""); }) ==
          "3: " + closed + "/config.yaml.partial: cannot create: Permission denied" + way_out);
  }
}

}  // namespace
}  // namespace meshwork
