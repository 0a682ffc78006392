#include "train/csv_log.h"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>

#include "support/errors.h"
#include "support/temp_directory.h"

namespace meshwork {
namespace {

TEST_CASE("metrics: a row per epoch, names sorted, nine digits, in the file at once") {
  const test::TempDirectory directory;
  const std::string path = directory.file("metrics.csv");
  test::write_text(path, "left from an older run\n");
  MetricsLog log(path);
  CHECK(test::read_text(path).empty());
  log.add(0, {{"val_loss", 0.5}, {"loss", 1.0 / 3.0}, {"accuracy", 0.9}});
  CHECK(test::read_text(path) ==
        "epoch,accuracy,loss,val_loss\n"
        "0,0.9,0.333333333,0.5\n");
  log.add(1, {{"val_loss", 1e-12}, {"loss", 123456789012.0}, {"accuracy", -0.0}});
  CHECK(test::read_text(path).ends_with("\n1,-0,1.23456789e+11,1e-12\n"));
}

TEST_CASE("metrics: NA where a value is absent; later names get no column") {
  const test::TempDirectory directory;
  const std::string path = directory.file("metrics.csv");
  MetricsLog log(path, {"val_loss", "val_accuracy"});
  log.add(0, {{"loss", 1.0}});
  log.add(1, {{"loss", 2.0}, {"val_loss", 3.0}, {"learning_rate", 0.1}});
  log.add(2, {});
  CHECK(test::read_text(path) ==
        "epoch,loss,val_accuracy,val_loss\n"
        "0,1,NA,NA\n"
        "1,2,NA,3\n"
        "2,NA,NA,NA\n");
}

TEST_CASE("metrics: one heading even if the first epoch has no values; odd names are quoted") {
  const test::TempDirectory directory;
  const std::string path = directory.file("metrics.csv");
  {
    MetricsLog log(path);
    log.add(0, {});
    log.add(1, {{"loss", 1.0}});
  }
  CHECK(test::read_text(path) == "epoch\n0\n1\n");
  MetricsLog log(path);
  log.add(0, {{"a,b", 1.0}, {"say \"c\"", 2.0}});
  CHECK(test::read_text(path) == "epoch,\"a,b\",\"say \"\"c\"\"\"\n0,1,2\n");
}

TEST_CASE("nine digits give every float back") {
  const test::TempDirectory directory;
  const std::string path = directory.file("steps.csv");
  StepsLog log(path);
  float value = 1e-30F;
  for (std::int64_t step = 0; step < 300; ++step) {
    log.add(step, value);
    const std::string text = test::read_text(path);
    const std::string number = text.substr(text.rfind(',') + 1);
    CHECK(std::strtof(number.c_str(), nullptr) == value);
    value *= 1.37F;
  }
}

TEST_CASE("steps: NaN has no sign, infinity has") {
  const test::TempDirectory directory;
  const std::string path = directory.file("steps.csv");
  StepsLog log(path);
  log.add(0, std::copysign(std::numeric_limits<double>::quiet_NaN(), -1.0));
  log.add(1, -std::numeric_limits<double>::infinity());
  CHECK(test::read_text(path) == "step,loss\n0,nan\n1,-inf\n");
}

TEST_CASE("a log that cannot be written is an error that says why") {
  const test::TempDirectory directory;
  const std::string absent = directory.file("absent/metrics.csv");
  CHECK(test::error_of([&] { MetricsLog log(absent); }) ==
        "3: " + absent + ": cannot create: No such file or directory");
  CHECK(test::error_of([] { StepsLog log("/dev/full"); }) ==
        "3: /dev/full: cannot write: No space left on device");
  MetricsLog log("/dev/full");
  CHECK(test::error_of([&] {
          log.add(0, {{"loss", 1.0}});
        }) == "3: /dev/full: cannot write: No space left on device");
}

}  // namespace
}  // namespace meshwork
