#include <doctest/doctest.h>

#include "config/yaml.h"
#include "data/files.h"

using namespace meshwork;
using namespace meshwork::test;

namespace {

/// Value of a channel of a pixel of a sample.
int value(int sample, int pixel, int channel) { return (7 * sample + pixel + 50 * channel) % 251; }

/// Samples first..last-1: labels, then planes.
std::string records(int first, int last, int label_bytes) {
  std::string bytes;
  for (int sample = first; sample < last; ++sample) {
    for (int i = 0; i < label_bytes; ++i) bytes += static_cast<char>(sample + 10 * i);
    for (int channel = 0; channel < 3; ++channel) {
      for (int pixel = 0; pixel < 1024; ++pixel) {
        bytes += static_cast<char>(value(sample, pixel, channel));
      }
    }
  }
  return bytes;
}

std::vector<float> expected(int samples) {
  std::vector<float> values;
  for (int sample = 0; sample < samples; ++sample) {
    for (int pixel = 0; pixel < 1024; ++pixel) {
      for (int channel = 0; channel < 3; ++channel) {
        values.push_back(static_cast<float>(value(sample, pixel, channel)));
      }
    }
  }
  return values;
}

std::string failure(const TempDir& dir, const std::string& description,
                    ExitCode code = ExitCode::kFile) {
  return error_of(
      [&] {
        const data::Dataset opened = dataset(dir, description);
        floats(opened.split("train"), "x");
        if (opened.split("train").find("y")) ints(opened.split("train"), "y");
      },
      code);
}

}  // namespace

TEST_CASE("cifar-10: planes become pixels, files follow each other") {
  const TempDir dir;
  dir.write("data_batch_1.bin", records(0, 2, 1));
  dir.write("data_batch_2.bin", records(2, 5, 1));
  dir.write("test_batch.bin", gzip(records(0, 1, 1)));
  const data::Dataset opened =
      dataset(dir, "{format: cifar10, splits: {train: 'data_batch_?.bin', test: test_batch.bin}}");
  CHECK(opened.describe() ==
        "train: 5 samples, x float32 [32, 32, 3], y int32 []\n"
        "test: 1 samples, x float32 [32, 32, 3], y int32 []\n");
  CHECK(floats(opened.split("train"), "x") == expected(5));
  CHECK(ints(opened.split("train"), "y") == std::vector<std::int32_t>{0, 1, 2, 3, 4});
  CHECK(floats(opened.split("test"), "x") == expected(1));
}

TEST_CASE("cifar-100: the fine label, or the coarse one") {
  const TempDir dir;
  dir.write("train.bin", records(0, 2, 2));
  const data::Dataset opened =
      dataset(dir,
              "{format: cifar100, splits: {train: {x: train.bin, y: train.bin, group: train.bin}},"
              " group: {part: coarse, dtype: int32}}");
  CHECK(floats(opened.split("train"), "x") == expected(2));
  CHECK(ints(opened.split("train"), "y") == std::vector<std::int32_t>{10, 11});
  CHECK(ints(opened.split("train"), "group") == std::vector<std::int32_t>{0, 1});
}

TEST_CASE("broken cifar files and descriptions are errors") {
  const TempDir dir;
  const std::string description = "{format: cifar10, splits: {train: d.bin}}";
  const std::string path = dir.write("d.bin", records(0, 1, 2));
  CHECK(contains(failure(dir, description),
                 path + ": 3074 bytes are no whole number of records of 3073 bytes; is it a file "
                        "of the binary version of CIFAR-10"));
  dir.write("d.bin", "");
  CHECK(contains(failure(dir, description), ": 0 bytes are no whole number of records"));
  dir.write("d.bin", records(8, 12, 1));
  CHECK(contains(failure(dir, description),
                 path + ": sample 2: label 10 is not in 0..9; is it the binary version"));
  const auto wrong = [&](const std::string& text) {
    return failure(dir, text, ExitCode::kConfiguration);
  };
  CHECK(contains(wrong("{format: cifar10, splits: {train: d.bin}, y: {part: fine}}"),
                 "CIFAR-10 has no part 'fine'; known: 'image', 'label'"));
  CHECK(contains(wrong("{format: cifar100, splits: {train: {u: d.bin}}}"),
                 "field 'u' must say which part of the records it is; known: 'image', 'coarse', "
                 "'fine'"));
}

TEST_CASE("the description of CIFAR-10 finds its five files where they are unpacked") {
  const TempDir dir;
  for (int i = 1; i <= 5; ++i) {
    dir.write("cifar-10-batches-bin/data_batch_" + std::to_string(i) + ".bin",
              records(i, i + 1, 1));
  }
  dir.write("cifar-10-batches-bin/test_batch.bin", records(0, 1, 1));
  config::Value description = config::load_yaml("datasets/cifar10.yaml");
  description.find("directories")->value =
      config::parse_yaml("[" + dir.file("cifar-10-batches-bin") + "]", "d.yaml");
  const data::Dataset opened(description, 1);
  CHECK(ints(opened.split("train"), "y") == std::vector<std::int32_t>{1, 2, 3, 4, 5});
  CHECK(floats(opened.split("test"), "x").at(5) == static_cast<float>(value(0, 1, 2) / 255.0));
}
