// What input costs: unpacking a file, converting a batch that lies in memory, decoding and
// augmenting images. One thread; batches are taken as fast as they come.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "base/rng.h"
#include "data/files.h"
#include "data/image_files.h"
#include "data/loader.h"

using namespace meshwork;
using namespace meshwork::test;

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::int64_t kBatch = 128;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

/// Images of `size` bytes that pack to about half, as photographs of clothes do.
std::string images(std::int64_t count, std::int64_t size) {
  std::string bytes(static_cast<std::size_t>(count * size), '\0');
  for (std::size_t i = 0; i < bytes.size(); i += 8) {
    const auto bits = philox(1, 0, i);
    for (std::size_t k = 0; k < 4; ++k) bytes[i + k] = static_cast<char>(bits[k]);
  }
  return bytes;
}

/// Microseconds in which a sample is read: the median over the batches of some passes; the first
/// pass, in which files are unpacked and images decoded that are kept, is left out.
double sample_time(const data::Split& split) {
  data::Loader loader(split, {.batch_size = kBatch, .shuffle = true, .augment = true},
                      whole_parts(split, true));
  std::vector<double> times;
  for (std::int64_t step = 0; step < 4 * loader.steps_per_epoch(); ++step) {
    const auto start = Clock::now();
    const std::int64_t samples = loader.next().size;
    if (step < loader.steps_per_epoch()) continue;
    times.push_back(seconds_since(start) / static_cast<double>(samples));
  }
  std::nth_element(times.begin(), times.begin() + times.size() / 2, times.end());
  return 1e6 * times[times.size() / 2];
}

void show(const std::string& what, const TempDir& dir, const std::string& description) {
  const data::Dataset opened = dataset(dir, description);
  fmt::print("  {:<58} {:8.3f} us per sample\n", what, sample_time(opened.split("train")));
}

void time_unpacking(const TempDir& dir) {
  const data::Dataset opened = dataset(dir, "{format: idx, splits: {train: {x: packed}}}");
  const data::Split& train = opened.split("train");
  const auto start = Clock::now();
  train.fields[0].source->samples();
  const double seconds = seconds_since(start);
  fmt::print("  {:<58} {:8.3f} ms, {:.0f} MB/s\n", "unpack 60000 x 28 x 28 bytes", 1e3 * seconds,
             60000 * 784 / seconds * 1e-6);
}

void time_arrays(const TempDir& dir) {
  const std::string labels = ", y: y}}";
  show("uint8 [28, 28] in memory: row numbers", dir,
       "{format: idx, splits: {train: {x: packed" + labels + ", x: {scale: 0.00392156862745098}}");
  show("uint8 [28, 28] by the thread that reads ahead", dir,
       "{format: idx, cache: false, splits: {train: {x: x" + labels +
           ", x: {scale: 0.00392156862745098}}");
  const std::string plain = "{format: idx, splits: {train: {x: x" + labels;
  show("RandomFlip", dir, plain + ", x: {augment: [RandomFlip: {mode: horizontal}]}}");
  show("RandomFlip, RandomTranslation (configs/resnet.yaml)", dir,
       plain +
           ", x: {augment: [RandomFlip: {mode: horizontal}, RandomTranslation: "
           "{height_factor: 0.07, width_factor: 0.07, fill_mode: constant}]}}");
  show("RandomFlip, RandomCrop", dir,
       plain + ", x: {augment: [RandomFlip: {mode: horizontal}, RandomCrop: {padding: 4}]}}");
  show("RandomRotation", dir, plain + ", x: {augment: [RandomRotation: {factor: 0.05}]}}");
}

void time_images(const TempDir& dir) {
  for (int i = 0; i < 256; ++i) {
    const std::string name = std::to_string(i % 2) + "/" + std::to_string(i);
    const auto pixels = smooth_pixels(64, 64, 3, i);
    dir.write("png/" + name + ".png", png(64, 64, pixels));
    dir.write("jpeg/" + name + ".jpg", jpeg(64, 64, 3, pixels));
  }
  for (const std::string kind : {"png", "jpeg"}) {
    const std::string data = "{format: images, splits: {train: " + kind + "}";
    show(kind + " [64, 64, 3]", dir, data + ", cache: false}");
    show(kind + " [64, 64, 3] to [48, 48, 3]", dir, data + ", cache: false, image_size: [48, 48]}");
    show(kind + " [64, 64, 3] kept", dir, data + "}");
  }
}

}  // namespace

TEST_CASE("what input costs") {
  const TempDir dir;
  const std::string x = idx(8, {60000, 28, 28}, images(60000, 784));
  dir.write("x", x);
  dir.write("packed", gzip(x));
  dir.write("y", idx(8, {60000}, std::string(60000, '\7')));
  dir.write("x.npy", npy(npy_dict("<f4", "(60000, 28, 28)"), std::string(60000UL * 784 * 4, '\1')));
  time_unpacking(dir);
  time_arrays(dir);
  time_images(dir);
}
