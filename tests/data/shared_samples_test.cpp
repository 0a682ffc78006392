// Samples that several threads, or devices of a process, decode.
#include <doctest/doctest.h>

#include <filesystem>
#include <span>
#include <thread>

#include "base/runs.h"
#include "data/files.h"
#include "data/image_files.h"
#include "data/loader.h"
#include "data/sample_reader.h"

using namespace meshwork;
using namespace meshwork::test;

TEST_CASE("threads that decode and augment change nothing, nor do devices that share samples") {
  const TempDir dir;
  for (int i = 0; i < 24; ++i) {
    const std::string name = "train/" + std::to_string(i % 2) + "/" + std::to_string(i);
    dir.write(name + ".png", png(4, 6, smooth_pixels(4, 6, 3, i)));
  }
  const std::string augment = "x: {augment: [RandomFlip, RandomRotation: {factor: 0.1}]}}";
  for (const char* cache : {"cache: false, ", "cache: true, "}) {
    const std::string text =
        "{format: images, splits: {train: train}, " + std::string(cache) + augment;
    const auto batches = [&](const data::Dataset& opened, int threads, int readers) {
      const data::Split& train = opened.split("train");
      const data::PartOf whole = whole_parts(train, true);
      data::Loader loader(train,
                          {.batch_size = 10, .shuffle = true, .augment = true, .threads = threads},
                          [&](std::size_t field, std::int64_t batch) {
                            data::LocalPart part = whole(field, batch);
                            part.readers = readers;
                            return part;
                          });
      std::vector<float> pixels;
      for (int step = 0; step < 7; ++step) {
        const data::Batch& batch = loader.next();
        const float* x = batch.fields[0].as<float>();
        pixels.insert(pixels.end(), x, x + batch.size * 4 * 6 * 3);
      }
      return pixels;
    };
    const std::vector<float> expected = batches(dataset(dir, text), 1, 1);
    CHECK(batches(dataset(dir, text), 3, 1) == expected);
    const data::Dataset shared = dataset(dir, text);
    std::vector<std::vector<float>> found(3);
    std::vector<std::thread> devices;
    for (std::vector<float>& pixels : found) {
      devices.emplace_back([&] { pixels = batches(shared, 2, 3); });
    }
    for (std::thread& device : devices) device.join();
    for (const std::vector<float>& pixels : found) CHECK(pixels == expected);
  }
}

TEST_CASE("an image that two devices of a process need is decoded once") {
  const TempDir dir;
  const auto file = [&](int i) { return dir.file("train/a/" + std::to_string(i) + ".png"); };
  for (int i = 0; i < 9; ++i) {
    dir.write("train/a/" + std::to_string(i) + ".png", png(4, 6, smooth_pixels(4, 6, 3, i)));
  }
  const data::Dataset opened =
      dataset(dir, "{format: images, cache: false, splits: {train: {x: train}}}");
  const data::Field& field = opened.split("train").fields[0];
  const std::vector<std::int64_t> samples{3, 8, 0};
  const Run whole{0, 0, 4 * 6 * 3};
  const auto read = [&](int readers) {
    data::SampleReader reader(field, 1, false, 2);
    std::vector<std::byte> out(samples.size() * 4 * 6 * 3);
    reader.read({.samples = samples, .readers = readers}, std::span(&whole, 1), out.data());
    return out;
  };
  const std::vector<std::byte> alone = read(1);
  CHECK(read(2) == alone);
  for (const std::int64_t i : samples) std::filesystem::remove(file(static_cast<int>(i)));
  CHECK(read(2) == alone);
  // Both have read them: they are kept no longer. The first that is missing is told of.
  CHECK(contains(error_of([&] { read(2); }), file(3)));
  CHECK(contains(error_of([&] { read(1); }), file(3)));
}
