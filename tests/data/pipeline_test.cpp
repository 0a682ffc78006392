#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <memory>

#include "base/rng.h"
#include "base/runs.h"
#include "data/augment/augmenter.h"
#include "data/files.h"
#include "data/image_files.h"
#include "data/loader.h"
#include "data/shuffle.h"

using namespace meshwork;
using namespace meshwork::test;

namespace {

constexpr const char* kAugment =
    "augment: [RandomFlip: {mode: horizontal}, RandomCrop: {padding: 2},"
    " RandomRotation: {factor: 0.1}, RandomTranslation: {height_factor: 0.2, width_factor: 0.1},"
    " RandomZoom: {height_factor: 0.2}]";

/// Images [5, 7, 3] with noise, labels their numbers.
void write_noise(const TempDir& dir, int samples) {
  std::string bytes;
  std::string labels;
  for (int i = 0; i < samples; ++i) {
    labels += static_cast<char>(i);
    for (std::uint64_t j = 0; j < 5 * 7 * 3; ++j) {
      bytes += static_cast<char>(philox(3, static_cast<std::uint64_t>(i), j)[0]);
    }
  }
  dir.write("x", idx(8, {samples, 5, 7, 3}, bytes));
  dir.write("y", idx(8, {samples}, labels));
}

data::Dataset noise(const TempDir& dir, const std::string& x) {
  return dataset(dir, "{format: idx, splits: {train: {x: x, y: y}}, x: {" + x + "}}", 4);
}

std::string bad(const std::string& options, ExitCode code = ExitCode::kConfiguration) {
  const TempDir dir;
  write_noise(dir, 2);
  return error_of([&] { noise(dir, options).describe(); }, code);
}

/// The block of each dimension that device `device` of a mesh of `parts` holds.
data::PartOf tiles(const data::Split& split, std::vector<std::int64_t> parts, std::int64_t device) {
  return [whole = whole_parts(split, true), parts, device](std::size_t field, std::int64_t batch) {
    data::LocalPart part = whole(field, batch);
    std::int64_t rest = device;
    for (std::size_t dim = parts.size(); dim-- > 0;) {
      const std::int64_t index = rest % parts[dim];
      rest /= parts[dim];
      if (dim >= part.shape.size()) continue;
      const std::int64_t extent = part.shape[dim];
      part.region.offset[dim] = extent / parts[dim] * index + std::min(index, extent % parts[dim]);
      part.shape[dim] = extent / parts[dim] + (index < extent % parts[dim] ? 1 : 0);
    }
    return part;
  };
}

/// Checks that the part is what the whole batch shows in its region.
void check_part(const data::FieldBatch& whole, const data::FieldBatch& part) {
  bool same = part.dtype == whole.dtype;
  const auto size = static_cast<std::int64_t>(size_of(whole.dtype));
  for_each_run(part.part.region, part.part.shape, [&](const Run& run) {
    const std::byte* from = whole.data + run.global * size;
    same = same && std::equal(from, from + run.count * size, part.data + run.local * size);
  });
  CHECK(same);
}

void check_meshes(const data::Split& train) {
  const data::LoaderOptions options{
      .batch_size = 4, .shuffle = true, .seed = 8, .prefetch = 3, .augment = true};
  const std::vector<std::vector<std::int64_t>> meshes{{1, 1, 1, 1}, {2, 1, 1, 1}, {1, 2, 1, 1},
                                                      {1, 1, 3, 1}, {2, 2, 2, 1}, {1, 6, 2, 1},
                                                      {3, 1, 1, 2}};
  for (const auto& mesh : meshes) {
    const std::int64_t count = mesh[0] * mesh[1] * mesh[2] * mesh[3];
    data::Loader whole(train, options, whole_parts(train, true));
    std::vector<std::unique_ptr<data::Loader>> devices;
    for (std::int64_t i = 0; i < count; ++i) {
      devices.push_back(std::make_unique<data::Loader>(train, options, tiles(train, mesh, i)));
    }
    for (int step = 0; step < 7; ++step) {  // over more than two passes, with their short batches
      const data::Batch& expected = whole.next();
      for (auto& device : devices) {
        const data::Batch& batch = device->next();
        CHECK(batch.size == expected.size);
        for (std::size_t f = 0; f < 2; ++f) check_part(expected.fields[f], batch.fields[f]);
      }
    }
  }
}

std::vector<float> image_of(const data::Batch& batch, std::size_t sample, std::size_t size) {
  const float* first = batch.fields[0].as<float>() + sample * size;
  return {first, first + size};
}

}  // namespace

TEST_CASE("mean and std are per channel, after scale") {
  const TempDir dir;
  dir.write("x", idx(8, {2, 1, 2, 3}, std::string("\0\1\2\3\4\5\6\7\10\11\12\13", 12)));
  dir.write("y", idx(8, {2}, "ab"));
  CHECK(floats(noise(dir, "scale: 2, mean: [0, 1, 2], std: [1, 0.5, 4]").split("train"), "x") ==
        std::vector<float>{0, 2, 0.5F, 6, 14, 2, 12, 26, 3.5F, 18, 38, 5});
  CHECK(floats(noise(dir, "mean: 1, std: 2").split("train"), "x")[11] == 5.F);
  CHECK(floats(noise(dir, "mean: [1, 2, 3]").split("train"), "x")[5] == 2.F);
  CHECK(floats(noise(dir, "std: 2").split("train"), "x")[11] == 5.5F);
  // Parts that begin in the middle of a pixel.
  const data::Dataset opened = noise(dir, "mean: [0, 10, 20]");
  const std::array<std::uint8_t, 2> stored{10, 11};
  std::vector<float> part(2);
  convert_and_normalize(reinterpret_cast<const std::byte*>(stored.data()), DType::kUInt8, {},
                        opened.split("train").fields[0].normalization, 4, part);
  CHECK(part == std::vector<float>{0, -9});
  CHECK(noise(dir, "mean: 0").split("train").fields[0].dtype == DType::kFloat32);
}

TEST_CASE("of large numbers that hardly differ the mean is taken off before they are rounded") {
  const TempDir dir;
  dir.write("rows.csv", "north,y\n5270000.25,0\n5270000.5,1\n5270001.75,2\n5269998,3\n");
  const auto split = [&](const std::string& options) {
    const std::string text = "{format: csv, splits: {train: rows.csv}, x: {columns: [north], " +
                             options + "}, y: {columns: [y]}}";
    return dataset(dir, text, 0).split("train");
  };
  CHECK(floats(split("mean: 5270000.25, std: 0.5"), "x") == std::vector<float>{0, 0.5F, 3, -4.5F});
  CHECK(floats(split("scale: 2, mean: 10540000, std: 0.5"), "x") ==
        std::vector<float>{1, 2, 7, -8});
}

TEST_CASE("a sample may be given another shape of as many numbers") {
  const TempDir dir;
  write_noise(dir, 3);
  const data::Dataset opened = noise(dir, "shape: [7, 15], mean: 1");
  CHECK(opened.describe() == "train: 3 samples, x float32 [7, 15], y int32 []\n");
  CHECK(floats(opened.split("train"), "x") == floats(noise(dir, "mean: 1").split("train"), "x"));
  CHECK(noise(dir, "shape: [105]").split("train").fields[0].shape == Shape{105});
}

TEST_CASE("what does not fit a field is told with its place") {
  CHECK(contains(bad("mean: [1, 2]"),
                 "field 'x': mean and std have 2 numbers, but samples of shape [5, 7, 3] have 3 "
                 "channels; give one for each, or one for all"));
  CHECK(contains(bad("mean: [1, 2], std: [1, 2, 3]"), "mean has 2 numbers, std 3"));
  CHECK(contains(bad("mean: []"), "mean must hold a number for each channel"));
  CHECK(contains(bad("std: 0"), "std must be positive, not 0"));
  CHECK(contains(bad("std: [1, -2, 1]"), "std must be positive, not -2"));
  CHECK(contains(bad("mean: 1, dtype: int32"), "mean needs dtype float32, but field 'x' is int32"));
  CHECK(
      contains(bad("std: 1, one_hot: 256"), "field 'x' has one_hot labels, for which there is no"));
  CHECK(contains(bad("shape: [3, 2], one_hot: 256"), "field 'x' has one_hot labels, whose shape"));
  CHECK(contains(bad("shape: [5, 7]"), "field 'x': shape [5, 7] has 35 numbers, but samples of"));
  CHECK(contains(bad("shape: [5, 0]"), "shape [5, 0] has the extent 0"));
  CHECK(contains(bad("shape: [4611686018427387904, 4611686018427387904]", ExitCode::kFile),
                 "more than any"));
  CHECK(contains(bad("dtype: int32, augment: RandomFlip"), "augment needs dtype float32"));
  CHECK(contains(bad("shape: [105], augment: RandomFlip"),
                 "augment is for images [height, width] or [height, width, channels], but samples "
                 "have shape [105]"));
}

TEST_CASE("augmented batches: the sources' images, the documented draws") {
  const TempDir dir;
  write_noise(dir, 6);
  const data::Dataset opened = noise(dir, "scale: 0.5, " + std::string(kAugment));
  const data::Split& train = opened.split("train");
  const std::vector<float> plain = floats(train, "x");  // reading is never augmented
  CHECK(plain == floats(noise(dir, "scale: 0.5").split("train"), "x"));
  data::Loader off(train, {.batch_size = 4, .seed = 8}, whole_parts(train));
  CHECK(off.next().fields[0].as<std::int32_t>()[3] == 3);

  data::Loader loader(train, {.batch_size = 4, .shuffle = true, .seed = 8, .augment = true},
                      whole_parts(train, true));
  data::Augmenter augmenter(train.fields[0].augment, "x", {5, 7, 3}, 8);
  std::vector<std::vector<float>> first_images;
  for (std::int64_t pass = 0; pass < 3; ++pass) {
    std::vector<std::int64_t> order(6);
    data::permutation(8, static_cast<std::uint64_t>(pass), order);
    for (std::int64_t position = 0; position < 6;) {
      const data::Batch& batch = loader.next();
      for (std::int64_t i = 0; i < batch.size; ++i, ++position) {
        const std::int64_t row = order[static_cast<std::size_t>(position)];
        std::vector<float> image(plain.begin() + 105 * row, plain.begin() + 105 * (row + 1));
        const float* expected = augmenter(image.data(), pass, position);
        const auto found = image_of(batch, static_cast<std::size_t>(i), 105);
        CHECK(std::equal(found.begin(), found.end(), expected));
        if (row == 0) first_images.push_back(found);
      }
    }
  }
  CHECK(first_images.size() == 3);  // each pass another one
  CHECK(first_images[0] != first_images[1]);
  CHECK(first_images[1] != first_images[2]);
}

TEST_CASE("a resumed run goes on with the same augmented batches") {
  const TempDir dir;
  write_noise(dir, 6);
  const data::Dataset opened = noise(dir, kAugment);
  const data::Split& train = opened.split("train");
  data::LoaderOptions options{.batch_size = 4, .shuffle = true, .seed = 8, .augment = true};
  data::Loader loader(train, options, whole_parts(train, true));
  for (int step = 0; step < 5; ++step) loader.next();
  options.first_step = 5;
  data::Loader resumed(train, options, whole_parts(train, true));
  CHECK(image_of(resumed.next(), 1, 105) == image_of(loader.next(), 1, 105));
}

TEST_CASE("every device of every mesh gets its tile of the augmented whole images") {
  const TempDir dir;
  write_noise(dir, 11);
  const data::Dataset arrays =
      noise(dir, "scale: 0.1, mean: [1, 2, 3], std: [4, 5, 6], " + std::string(kAugment));
  check_meshes(arrays.split("train"));
}

TEST_CASE("tiles of images from files, kept or decoded each time, resized or not, plain or not") {
  const TempDir dir;
  for (int i = 0; i < 11; ++i) {
    const std::string name = "train/" + std::to_string(i % 3) + "/" + std::to_string(i);
    const std::string pixels = smooth_pixels(5, 7, 3, 9 * i);
    dir.write(i % 2 == 0 ? name + ".png" : name + ".jpg",
              i % 2 == 0 ? png(5, 7, pixels) : jpeg(5, 7, 3, pixels));
  }
  for (const char* cache : {"cache: true", "cache: false"}) {
    for (const char* size : {"", ", image_size: [6, 5]"}) {
      for (const std::string x : {"scale: 0.5", kAugment}) {
        const data::Dataset opened =
            dataset(dir, "{format: images, splits: {train: train}, " + std::string(cache) + size +
                             ", x: {" + x + "}, y: {dtype: float32}}");
        check_meshes(opened.split("train"));
      }
    }
  }
}

TEST_CASE("a device decodes only the images of its rows") {
  const TempDir dir;
  for (int i = 0; i < 8; ++i) {
    dir.write("train/a/" + std::to_string(i) + ".png", png(2, 2, smooth_pixels(2, 2, 3, i)));
  }
  for (const char* cache : {"true", "false"}) {
    const data::Dataset opened =
        dataset(dir, "{format: images, image_size: [2, 2], cache: " + std::string(cache) +
                         ", splits: {train: {x: train}}, x: {augment: RandomFlip}}");
    const data::Split& train = opened.split("train");
    // The second half of every batch of 4 cannot be read.
    for (const int i : {2, 3, 6, 7}) dir.write("train/a/" + std::to_string(i) + ".png", "damaged");
    const data::LoaderOptions options{.batch_size = 4, .augment = true};
    data::Loader first(train, options, tiles(train, {2, 1, 2, 1}, 0));
    for (int step = 0; step < 4; ++step) CHECK(first.next().fields[0].part.shape[0] == 2);
    data::Loader second(train, options, tiles(train, {2, 1, 2, 1}, 2));
    CHECK(contains(error_of([&] { second.next(); }), "train/a/2.png: neither a PNG nor a JPEG"));
    // No pixel of the image, no need to decode it.
    data::Loader none(train, options, tiles(train, {1, 3, 1, 1}, 2));
    CHECK(none.next().fields[0].part.shape == Shape{4, 0, 2, 3});
    for (const int i : {2, 3, 6, 7}) {
      dir.write("train/a/" + std::to_string(i) + ".png", png(2, 2, smooth_pixels(2, 2, 3, i)));
    }
  }
}

TEST_CASE("drop_remainder leaves out what fills no batch") {
  const TempDir dir;
  write_noise(dir, 7);
  const data::Dataset opened = noise(dir, "");
  const data::Split& train = opened.split("train");
  data::PartOf whole = whole_parts(train);
  const auto full_only = [&](std::size_t field, std::int64_t batch) {
    CHECK(batch == 3);
    return whole(field, batch);
  };
  data::Loader loader(train, {.batch_size = 3, .shuffle = true, .seed = 2, .drop_remainder = true},
                      full_only);
  CHECK(loader.steps_per_epoch() == 2);
  for (std::uint64_t pass = 0; pass < 3; ++pass) {
    std::vector<std::int64_t> order(7);
    data::permutation(2, pass, order);
    for (std::size_t step = 0; step < 2; ++step) {
      const data::Batch& batch = loader.next();
      CHECK(batch.size == 3);
      for (std::size_t i = 0; i < 3; ++i) {
        CHECK(batch.fields[1].as<std::int32_t>()[i] == order[3 * step + i]);
      }
    }
  }
  data::Loader even(train, {.batch_size = 7, .drop_remainder = true}, whole_parts(train));
  CHECK(even.steps_per_epoch() == 1);
  CHECK(even.next().size == 7);
}

TEST_CASE("as many batches as prefetch says are read ahead, and no more") {
  const TempDir dir;
  dir.write("n", idx(8, {12}, std::string("\1\1\1\1\1\1\1\1\1\1\1\7", 12)));
  const data::Dataset opened =
      dataset(dir, "{format: idx, cache: false, splits: {train: {y: n}}, y: {one_hot: 5}}");
  const data::Split& train = opened.split("train");
  for (const std::int64_t prefetch : {1, 2, 5, 30}) {
    data::Loader loader(train, {.batch_size = 2, .prefetch = prefetch}, whole_parts(train));
    for (int step = 0; step < 5; ++step) CHECK(loader.next().fields[0].as<std::uint8_t>()[1] == 1);
    CHECK(contains(error_of([&] { loader.next(); }), "sample 11: label 7 is not in 0..4"));
  }
}
