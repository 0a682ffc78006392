#include "data/loader.h"

#include <doctest/doctest.h>
#include <omp.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <new>
#include <thread>

#include "data/files.h"
#include "data/image_files.h"
#include "data/shuffle.h"

using namespace meshwork;
using namespace meshwork::test;

namespace {

std::atomic<std::int64_t> allocations = 0;

/// Samples [2, 3] of x hold 10 * sample + element, y the number of the sample. Kept in memory, they
/// are read by the thread that asks for them, else by one that reads ahead.
data::Dataset numbered(const TempDir& dir, int samples, bool kept = true) {
  std::vector<std::int32_t> x;
  std::vector<std::int32_t> y;
  for (int i = 0; i < samples; ++i) {
    for (int j = 0; j < 6; ++j) x.push_back(10 * i + j);
    y.push_back(i);
  }
  dir.write("x", idx(0x0C, {samples, 2, 3}, bytes_of(x, true)));
  dir.write("y", idx(0x0C, {samples}, bytes_of(y, true)));
  return dataset(dir, std::string("{format: idx, splits: {train: {x: x, y: y}}, cache: ") +
                          (kept ? "true}" : "false}"));
}

std::vector<std::int64_t> labels(const data::Batch& batch) {
  const data::FieldBatch& y = batch.fields[1];
  return {y.as<std::int32_t>(), y.as<std::int32_t>() + y.part.shape[0]};
}

/// Block `index` of `extent` cut in `parts` balanced blocks.
std::pair<std::int64_t, std::int64_t> block(std::int64_t extent, std::int64_t parts,
                                            std::int64_t index) {
  const std::int64_t begin = extent / parts * index + std::min(index, extent % parts);
  return {begin, extent / parts + (index < extent % parts ? 1 : 0)};
}

/// Device `device` of `parts`: its block of the batch, and of dimension 2 of x if `columns`.
data::PartOf sharded(const data::Split& split, std::int64_t parts, std::int64_t device,
                     bool columns) {
  return [whole = data::whole_parts(split), parts, device, columns](std::size_t field,
                                                                    std::int64_t batch) {
    data::LocalPart part = whole(field, batch);
    const std::size_t dim = columns && field == 0 ? 2 : 0;
    std::tie(part.region.offset[dim], part.shape[dim]) = block(part.shape[dim], parts, device);
    return part;
  };
}

}  // namespace

// Counts. Weak, for a sanitizer that brings its own; the test below then sees no allocation.
[[gnu::weak]] void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
  ++allocations;
  return std::malloc(size == 0 ? 1 : size);
}
[[gnu::weak]] void* operator new(std::size_t size) {
  if (void* memory = operator new(size, std::nothrow)) return memory;
  throw std::bad_alloc();
}
[[gnu::weak]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::weak]] void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
[[gnu::weak]] void operator delete(void* memory, const std::nothrow_t&) noexcept {
  std::free(memory);
}

TEST_CASE("batches come in order, the last one short, pass after pass") {
  const TempDir dir;
  bool kept = false;
  SUBCASE("kept in memory") { kept = true; }
  SUBCASE("read ahead") {}
  const data::Dataset opened = numbered(dir, 7, kept);
  const data::Split& train = opened.split("train");
  data::Loader loader(train, {.batch_size = 3, .seed = 1, .steps_per_epoch = {}},
                      data::whole_parts(train));
  CHECK(loader.is_direct() == kept);
  CHECK(loader.steps_per_epoch() == 3);
  for (int pass = 0; pass < 3; ++pass) {
    CHECK(labels(loader.next()) == std::vector<std::int64_t>{0, 1, 2});
    const data::Batch& second = loader.next();
    CHECK(second.size == 3);
    CHECK(second.fields[0].dtype == DType::kFloat32);
    CHECK(second.fields[0].part.shape == Shape{3, 2, 3});
    CHECK(second.fields[0].as<float>()[17] == 55.F);
    CHECK(reinterpret_cast<std::uintptr_t>(second.fields[0].data) % 64 == 0);
    const data::Batch& last = loader.next();
    CHECK(last.size == 1);
    CHECK(last.fields[0].part.shape == Shape{1, 2, 3});
    CHECK(labels(last) == std::vector<std::int64_t>{6});
  }
}

TEST_CASE("a batch larger than the data is all of it") {
  const TempDir dir;
  const data::Dataset opened = numbered(dir, 4);
  const data::Split& train = opened.split("train");
  data::Loader loader(train, {.batch_size = 100, .steps_per_epoch = {}}, data::whole_parts(train));
  CHECK(loader.steps_per_epoch() == 1);
  for (int pass = 0; pass < 4; ++pass) CHECK(loader.next().size == 4);
}

TEST_CASE("every pass has its permutation, and a resumed run goes on with it") {
  const TempDir dir;
  const data::Dataset opened = numbered(dir, 10);
  const auto parts = data::split_validation(opened.split("train"), 0.3);
  data::LoaderOptions options{.batch_size = 2, .shuffle = true, .seed = 9, .steps_per_epoch = 3};
  data::Loader loader(parts.second, options, data::whole_parts(parts.second));
  CHECK(loader.steps_per_epoch() == 3);
  std::vector<std::int64_t> seen;
  for (int step = 0; step < 8; ++step) {
    const auto batch = labels(loader.next());
    seen.insert(seen.end(), batch.begin(), batch.end());
  }
  std::vector<std::int64_t> expected;
  for (std::uint64_t pass = 0; pass < 4; ++pass) {
    std::vector<std::int64_t> order(3);
    data::permutation(9, pass, order);
    for (const std::int64_t row : order) expected.push_back(row + 7);
  }
  CHECK(seen == expected);  // passes of a batch of 2 and a batch of 1

  options.first_step = 5;
  data::Loader resumed(parts.second, options, data::whole_parts(parts.second));
  const auto batch = labels(resumed.next());
  CHECK(batch == std::vector<std::int64_t>(expected.begin() + 8, expected.begin() + 9));
}

TEST_CASE("devices that hold blocks together hold the whole batch") {
  const TempDir dir;
  bool kept = false;
  SUBCASE("kept in memory") { kept = true; }
  SUBCASE("read ahead") {}
  const data::Dataset opened = numbered(dir, 11, kept);
  const data::Split& train = opened.split("train");
  const data::LoaderOptions options{
      .batch_size = 4, .shuffle = true, .seed = 3, .steps_per_epoch = {}};
  for (const bool columns : {false, true}) {
    data::Loader whole(train, options, data::whole_parts(train));
    std::vector<std::unique_ptr<data::Loader>> devices;
    for (std::int64_t i = 0; i < 5; ++i) {  // more devices than rows or columns: some hold nothing
      devices.push_back(
          std::make_unique<data::Loader>(train, options, sharded(train, 5, i, columns)));
    }
    for (int step = 0; step < 6; ++step) {
      const data::Batch& expected = whole.next();
      std::int64_t elements = 0;
      for (auto& device : devices) {
        const data::FieldBatch& x = device->next().fields[0];
        const Shape& at = x.part.region.offset;
        const float* value = x.as<float>();
        for (std::int64_t i = 0; i < x.part.shape[0]; ++i) {
          for (std::int64_t j = 0; j < 2; ++j) {
            for (std::int64_t k = 0; k < x.part.shape[2]; ++k) {
              const std::int64_t index = ((at[0] + i) * 2 + j) * 3 + at[2] + k;
              CHECK(*value++ == expected.fields[0].as<float>()[index]);
              ++elements;
            }
          }
        }
      }
      CHECK(elements == expected.size * 6);
    }
  }
}

TEST_CASE("a batch is read where it is wanted as it is held in memory of the loader") {
  const TempDir dir;
  const data::Dataset memory = numbered(dir, 11);
  const data::Dataset ahead = numbered(dir, 11, false);
  const data::LoaderOptions options{
      .batch_size = 4, .shuffle = true, .seed = 3, .steps_per_epoch = {}};
  for (const std::int64_t device : {0, 1, 4}) {
    const auto parts = sharded(memory.split("train"), 5, device, true);
    data::Loader held(ahead.split("train"), options, parts);
    data::Loader direct(memory.split("train"), options, parts);
    data::Loader copied(ahead.split("train"), options, parts);
    for (int step = 0; step < 8; ++step) {
      const data::Batch& expected = held.next();
      for (data::Loader* loader : {&direct, &copied}) {
        REQUIRE(loader->advance() == expected.size);
        for (std::size_t i = 0; i < expected.fields.size(); ++i) {
          const data::FieldBatch& field = expected.fields[i];
          const auto bytes = static_cast<std::size_t>(num_elements(field.part.shape)) * 4;
          std::vector<std::byte> place(bytes + 1, std::byte{0x5A});
          loader->read(i, place.data());
          CHECK(std::equal(field.data, field.data + bytes, place.data()));
          CHECK(place.back() == std::byte{0x5A});
        }
      }
    }
  }
}

TEST_CASE("only what is ready in memory is read without a thread") {
  const TempDir dir;
  numbered(dir, 6);
  dir.write("x.npy", npy(npy_dict("|u1", "(6, 2, 2)"), std::string(24, '\1')));
  write_zip(dir.file("x.npz"), {{"x.npy", read_file(dir.file("x.npy"))}}, true);
  dir.write("packed", gzip(read_file(dir.file("x"))));
  const auto is_direct = [&](const std::string& text, bool augment = true) {
    const data::Dataset opened = dataset(dir, text);
    const data::Split& train = opened.split("train");
    return data::Loader(train, {.batch_size = 2, .augment = augment}, data::whole_parts(train))
        .is_direct();
  };
  CHECK(is_direct("{format: idx, splits: {train: {x: x, y: y}}, y: {one_hot: 6}}"));
  CHECK_FALSE(is_direct("{format: idx, cache: false, splits: {train: {x: x, y: y}}}"));
  CHECK(is_direct("{format: idx, cache: false, splits: {train: {x: packed}}}"));
  CHECK(is_direct("{format: npy, splits: {train: {x: [x.npy, x.npy]}}}"));
  CHECK(is_direct("{format: npz, splits: {train: {x: x.npz}}}"));
  CHECK_FALSE(is_direct("{format: npz, cache: false, splits: {train: {x: x.npz}}}"));
  CHECK(is_direct("{format: synthetic, splits: {train: {x: {normal: [6, 2]}}}}"));
  CHECK_FALSE(
      is_direct("{format: synthetic, cache: false, splits: {train: {x: {normal: [6, 2]}}}}"));
  const std::string augmented =
      "{format: npy, splits: {train: {x: x.npy}}, x: {augment: [RandomFlip]}}";
  CHECK_FALSE(is_direct(augmented));
  CHECK(is_direct(augmented, false));
}

TEST_CASE("a preparation leaves errors for the first read") {
  const TempDir dir;
  const std::string letters(2000, 'a');  // more than the header, which is read at once
  const std::string path = dir.write("x", gzip(idx(8, {2000}, letters)) + "garbage");
  dir.write("y", idx(8, {2000}, letters));
  const data::Dataset opened = dataset(dir, "{format: idx, splits: {train: {x: x, y: y}}}");
  const data::Split& train = opened.split("train");
  data::Preparation preparation(train);
  preparation.wait();
  preparation.wait();
  CHECK(contains(error_of([&] { floats(train, "x"); }), path + ": 7 bytes of garbage"));
  CHECK(ints(train, "y") == std::vector<std::int32_t>(2000, 'a'));
}

TEST_CASE("threads that convert a batch together convert it like one") {
  const TempDir dir;
  dir.write("x", idx(8, {300, 1000}, std::string(300000, '\7')));
  std::string labels(300, '\1');
  for (const std::size_t wrong : {70, 90, 199}) labels[wrong] = static_cast<char>(240 + wrong / 50);
  dir.write("y", idx(8, {300}, labels));
  std::vector<std::byte> alone(200 * 1000 * 4);
  std::vector<std::byte> together(alone.size());
  for (const char* y : {"", ", y: {one_hot: 500}"}) {
    const data::Dataset opened = dataset(
        dir, std::string("{format: idx, splits: {train: {x: x, y: y}}, x: {scale: 0.1}") + y + "}");
    const data::Split& train = opened.split("train");
    const data::LoaderOptions options{
        .batch_size = 200, .shuffle = true, .seed = 5, .steps_per_epoch = {}};
    data::Loader one(train, options, data::whole_parts(train));
    data::Loader three(train, options, data::whole_parts(train));
    for (int step = 0; step < 4; ++step) {
      REQUIRE(one.advance() == three.advance());
      for (const std::size_t field : {0, 1}) {
        one.read(field, alone.data());
        omp_set_num_threads(3);
        three.read(field, together.data());
        omp_set_num_threads(1);
        CHECK(alone == together);
      }
    }
  }
  const data::Dataset wrong = dataset(
      dir, "{format: idx, splits: {train: {x: x, y: y}}, x: {scale: 0.1}, y: {one_hot: 240}}");
  const data::Split& train = wrong.split("train");
  data::Loader three(train, {.batch_size = 300, .steps_per_epoch = {}}, data::whole_parts(train));
  three.advance();
  std::vector<std::byte> labels_out(300 * 240 * 4);
  omp_set_num_threads(3);
  CHECK(contains(error_of([&] { three.read(1, labels_out.data()); }), "sample 70: label 241"));
  omp_set_num_threads(1);
}

TEST_CASE("what goes wrong in reading surfaces at every later call") {
  const TempDir dir;
  const std::string path = dir.write("y", gzip(idx(8, {2000}, std::string(2000, '\5'))));
  std::string broken = read_file(path);
  broken[broken.size() - 7] ^= 1;
  dir.write("y", broken);
  const data::Dataset opened = dataset(dir, "{format: idx, splits: {train: {y: y}}}");
  const data::Split& train = opened.split("train");
  data::Loader loader(train, {.batch_size = 10, .steps_per_epoch = {}}, data::whole_parts(train));
  for (int i = 0; i < 3; ++i) {
    CHECK(contains(error_of([&] { loader.next(); }), path + ": the gzip data is damaged"));
  }

  dir.write("n", idx(8, {6}, std::string("\1\2\3\4\5\6", 6)));
  const data::Dataset late =
      dataset(dir, "{format: idx, splits: {train: {y: n}}, y: {one_hot: 5}}");
  data::Loader ends(late.split("train"), {.batch_size = 2, .steps_per_epoch = {}},
                    data::whole_parts(late.split("train")));
  CHECK(ends.next().size == 2);
  CHECK(ends.next().fields[0].as<float>()[3] == 1.F);
  CHECK(ends.advance() == 2);
  std::array<std::byte, 40> place;
  const std::string message = "sample 4: label 5 is not in 0..4";
  CHECK(contains(error_of([&] { ends.read(0, place.data()); }), message));
  CHECK(contains(error_of([&] { ends.next(); }), message));
  CHECK(contains(error_of([&] { ends.advance(); }), message));

  const data::Dataset threaded =
      dataset(dir, "{format: idx, cache: false, splits: {train: {y: n}}, y: {one_hot: 5}}");
  data::Loader ahead(threaded.split("train"), {.batch_size = 2, .steps_per_epoch = {}},
                     data::whole_parts(threaded.split("train")));
  CHECK(ahead.next().size == 2);
  CHECK(ahead.advance() == 2);
  for (int i = 0; i < 2; ++i) CHECK(contains(error_of([&] { ahead.advance(); }), message));
}

TEST_CASE("a loader can go away at any moment") {
  const TempDir dir;
  const data::Dataset opened = numbered(dir, 50);
  const data::Split& train = opened.split("train");
  for (int steps = 0; steps < 5; ++steps) {
    for (const bool wait : {false, true}) {
      data::Loader loader(train, {.batch_size = 3, .shuffle = true, .steps_per_epoch = {}},
                          data::whole_parts(train));
      for (int i = 0; i < steps; ++i) loader.next();
      if (wait) std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
  }
}

TEST_CASE("many devices read one packed file at a time") {
  const TempDir dir;
  std::string bytes(5000, '\0');
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<char>(i % 100);
  dir.write("y.gz", gzip(idx(8, {5000}, bytes)));
  const data::Dataset opened = dataset(dir, "{format: idx, splits: {train: {y: y}}}");
  std::atomic<int> right = 0;
  std::vector<std::thread> devices;
  for (int device = 0; device < 8; ++device) {
    devices.emplace_back([&] {
      const data::Split& train = opened.split("train");
      data::Loader loader(train, {.batch_size = 100, .steps_per_epoch = {}},
                          data::whole_parts(train));
      for (int step = 0; step < 60; ++step) {
        const data::Batch& batch = loader.next();
        for (int i = 0; i < 100; ++i) right += batch.fields[0].as<std::int32_t>()[i] == i;
      }
    });
  }
  for (std::thread& device : devices) device.join();
  CHECK(right == 8 * 60 * 100);
}

TEST_CASE("a warm loader allocates nothing") {
  const TempDir dir;
  numbered(dir, 10);
  for (int i = 0; i < 10; ++i) {
    const std::string name = "train/" + std::to_string(i % 2) + "/" + std::to_string(i);
    dir.write(name + ".png", png(4, 6, smooth_pixels(4, 6, 3, i)));
  }
  const std::string augment =
      "x: {mean: [1, 2, 3], augment: [RandomFlip, RandomCrop: {padding: 1},"
      " RandomRotation: {factor: 0.1}, RandomZoom: {height_factor: 0.1}]}}";
  for (const std::string& text :
       {std::string("{format: idx, splits: {train: {x: x, y: y}}}"),
        "{format: images, splits: {train: train}, " + augment,
        "{format: images, image_size: [5, 5], splits: {train: train}, " + augment}) {
    CAPTURE(text);
    const data::Dataset opened = dataset(dir, text);
    const data::Split& train = opened.split("train");
    data::Loader loader(train, {.batch_size = 4, .shuffle = true, .augment = true},
                        sharded(train, 2, 1, true));
    for (int step = 0; step < 60; ++step) loader.next();  // until every image has been decoded
    std::this_thread::sleep_for(std::chrono::milliseconds(5));  // until the thread waits
    const std::int64_t before = allocations;
    for (int step = 0; step < 100; ++step) loader.next();
    CHECK(allocations == before);
  }
}
