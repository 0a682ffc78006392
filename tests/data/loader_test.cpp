#include "data/loader.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <new>
#include <thread>

#include "base/local_work.h"
#include "base/runs.h"
#include "data/check_values.h"
#include "data/files.h"
#include "data/image_files.h"
#include "data/preparation.h"
#include "data/shuffle.h"

using namespace meshwork;
using namespace meshwork::test;

namespace {

std::atomic<std::int64_t> allocations = 0;

/// Samples [2, 3] of x hold 10 * sample + element, y the number of the sample. Of what is kept in
/// memory batches are row numbers, which of y are the labels.
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
                     bool columns, bool augment = false) {
  return [whole = whole_parts(split, augment), parts, device, columns](std::size_t field,
                                                                       std::int64_t batch) {
    data::LocalPart part = whole(field, batch);
    const std::size_t dim = columns && part.shape.size() > 2 ? 2 : 0;
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
                      whole_parts(train));
  CHECK((data::arrival_of(train.fields[0], true) == data::Arrival::kRows) == kept);
  CHECK(loader.steps_per_epoch() == 3);
  for (int pass = 0; pass < 3; ++pass) {
    CHECK(labels(loader.next()) == std::vector<std::int64_t>{0, 1, 2});
    const data::Batch& second = loader.next();
    CHECK(second.size == 3);
    CHECK(second.fields[0].dtype == DType::kInt32);
    CHECK(second.fields[0].part.shape == (kept ? Shape{3} : Shape{3, 2, 3}));
    CHECK(second.fields[0].as<std::int32_t>()[kept ? 2 : 17] == (kept ? 5 : 55));
    CHECK(reinterpret_cast<std::uintptr_t>(second.fields[0].data) % 64 == 0);
    const data::Batch& last = loader.next();
    CHECK(last.size == 1);
    CHECK(last.fields[0].part.shape == (kept ? Shape{1} : Shape{1, 2, 3}));
    CHECK(labels(last) == std::vector<std::int64_t>{6});
  }
}

TEST_CASE("filling a batch is local work, however little it reads") {
  const TempDir dir;
  const data::Dataset opened = numbered(dir, 7, false);
  const data::Split& train = opened.split("train");
  const std::uint64_t before = local_work().done;
  data::Loader loader(train, {.batch_size = 3, .steps_per_epoch = {}}, whole_parts(train));
  loader.next();
  CHECK(local_work().done > before);
}

TEST_CASE("a batch larger than the data is all of it") {
  const TempDir dir;
  const data::Dataset opened = numbered(dir, 4);
  const data::Split& train = opened.split("train");
  data::Loader loader(train, {.batch_size = 100, .steps_per_epoch = {}}, whole_parts(train));
  CHECK(loader.steps_per_epoch() == 1);
  for (int pass = 0; pass < 4; ++pass) CHECK(loader.next().size == 4);
}

TEST_CASE("every pass has its permutation, and a resumed run goes on with it") {
  const TempDir dir;
  const data::Dataset opened = numbered(dir, 10);
  const auto parts = data::split_validation(opened.split("train"), 0.3);
  data::LoaderOptions options{.batch_size = 2, .shuffle = true, .seed = 9, .steps_per_epoch = 3};
  data::Loader loader(parts.second, options, whole_parts(parts.second));
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
  data::Loader resumed(parts.second, options, whole_parts(parts.second));
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
    data::Loader whole(train, options, whole_parts(train));
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
        for_each_run(x.part.region, x.part.shape, [&](const Run& run) {
          const auto* whole_x = expected.fields[0].as<std::int32_t>() + run.global;
          CHECK(std::equal(whole_x, whole_x + run.count, x.as<std::int32_t>() + run.local));
          elements += run.count;
        });
      }
      CHECK(elements == num_elements(expected.fields[0].part.shape));
    }
  }
}

TEST_CASE("a batch stays while the next one is there, in the memory that was asked for") {
  const TempDir dir;
  for (const bool kept : {false, true}) {
    const data::Dataset opened = numbered(dir, 11, kept);
    const data::Split& train = opened.split("train");
    std::vector<std::byte> pool(1 << 16);
    std::int64_t used = 0;
    const data::LoaderOptions options{.batch_size = 4,
                                      .shuffle = true,
                                      .seed = 3,
                                      .prefetch = 3,
                                      .memory = [&](std::int64_t bytes) {
                                        std::byte* memory = pool.data() + used;
                                        used += (bytes + 63) / 64 * 64;
                                        return std::shared_ptr<std::byte>(memory, [](auto*) {});
                                      }};
    data::Loader loader(train, options, whole_parts(train));
    CHECK(used == (kept ? 2 : 5) * (kept ? 64 + 64 : 128 + 64));
    const data::Batch* before = nullptr;
    std::vector<std::int64_t> expected;
    for (int step = 0; step < 12; ++step) {
      const data::Batch& batch = loader.next();
      std::this_thread::sleep_for(std::chrono::milliseconds(1));  // until others are read ahead
      if (before != nullptr) CHECK(labels(*before) == expected);
      CHECK(batch.fields[1].data >= pool.data());
      CHECK(batch.fields[1].data < pool.data() + used);
      before = &batch;
      expected = labels(batch);
    }
  }
}

TEST_CASE("of what lies in memory row numbers are given") {
  const TempDir dir;
  numbered(dir, 6);
  dir.write("x.npy", npy(npy_dict("|u1", "(6, 2, 2)"), std::string(24, '\1')));
  write_zip(dir.file("x.npz"), {{"x.npy", read_file(dir.file("x.npy"))}}, true);
  dir.write("packed", gzip(read_file(dir.file("x"))));
  dir.write("x.csv", "a,b\n1,2\n");
  const auto arrival = [&](const std::string& text, bool augment = true) {
    const data::Dataset opened = dataset(dir, text);
    return data::arrival_of(opened.split("train").fields[0], augment);
  };
  using data::Arrival;
  CHECK(arrival("{format: idx, splits: {train: {y: y}}, y: {one_hot: 6}}") == Arrival::kRows);
  CHECK(arrival("{format: idx, cache: false, splits: {train: {x: x, y: y}}}") == Arrival::kStored);
  CHECK(arrival("{format: idx, cache: false, splits: {train: {x: packed}}}") == Arrival::kRows);
  CHECK(arrival("{format: npy, splits: {train: {x: [x.npy, x.npy]}}}") == Arrival::kRows);
  CHECK(arrival("{format: csv, splits: {train: {x: x.csv}}}") == Arrival::kRows);
  CHECK(arrival("{format: npz, splits: {train: {x: x.npz}}}") == Arrival::kRows);
  CHECK(arrival("{format: npz, cache: false, splits: {train: {x: x.npz}}}") == Arrival::kStored);
  const std::string drawn = "format: synthetic, splits: {train: {x: {normal: [6, 2]}}}}";
  CHECK(arrival("{" + drawn) == Arrival::kRows);
  CHECK(arrival("{cache: false, " + drawn) == Arrival::kStored);
  const std::string augmented =
      "{format: npy, splits: {train: {x: x.npy}}, x: {augment: [RandomFlip]}}";
  CHECK(arrival(augmented) == Arrival::kAugmented);
  CHECK(arrival(augmented, false) == Arrival::kRows);
}

TEST_CASE("a preparation leaves errors for the first read") {
  const TempDir dir;
  const std::string letters(2000, 'a');  // more than the header, which is read at once
  const std::string path = dir.write("x", gzip(idx(8, {2000}, letters)) + "garbage");
  dir.write("y", idx(8, {2000}, letters));
  const data::Dataset opened = dataset(dir, "{format: idx, splits: {train: {x: x, y: y}}}");
  const data::Split& train = opened.split("train");
  data::prepare(train).wait();
  CHECK(contains(error_of([&] { floats(train, "x"); }), path + ": 7 bytes of garbage"));
  CHECK(ints(train, "y") == std::vector<std::int32_t>(2000, 'a'));
}

TEST_CASE("what goes wrong in reading surfaces at every later call") {
  const TempDir dir;
  const std::string path = dir.write("y", gzip(idx(8, {2000}, std::string(2000, '\5'))));
  std::string broken = read_file(path);
  broken[broken.size() - 7] ^= 1;
  dir.write("y", broken);
  const data::Dataset opened = dataset(dir, "{format: idx, splits: {train: {y: y}}}");
  const data::Split& train = opened.split("train");
  for (int i = 0; i < 3; ++i) {
    CHECK(contains(error_of([&] { data::resident_samples(train, train.fields[0]); }),
                   path + ": the gzip data is damaged"));
  }

  dir.write("n", idx(8, {6}, std::string("\1\2\3\4\5\6", 6)));
  const data::Dataset kept =
      dataset(dir, "{format: idx, splits: {train: {y: n}}, y: {one_hot: 5}}");
  data::Split split = kept.split("train");
  const std::string message = "sample 4: label 5 is not in 0..4";
  CHECK(contains(error_of([&] { data::resident_samples(split, split.fields[0]); }), message));
  split.samples = 4;  // what is not of the split does not matter
  CHECK(data::resident_samples(split, split.fields[0])[3] == std::byte{4});

  const data::Dataset read =
      dataset(dir, "{format: idx, cache: false, splits: {train: {y: n}}, y: {one_hot: 5}}");
  data::Loader ahead(read.split("train"), {.batch_size = 2, .steps_per_epoch = {}},
                     whole_parts(read.split("train")));
  CHECK(ahead.next().size == 2);
  CHECK(ahead.next().fields[0].as<std::uint8_t>()[1] == 4);
  for (int i = 0; i < 2; ++i) CHECK(contains(error_of([&] { ahead.next(); }), message));
}

TEST_CASE("a loader can go away at any moment") {
  const TempDir dir;
  const data::Dataset opened = numbered(dir, 50);
  const data::Split& train = opened.split("train");
  for (int steps = 0; steps < 5; ++steps) {
    for (const bool wait : {false, true}) {
      data::Loader loader(train, {.batch_size = 3, .shuffle = true, .steps_per_epoch = {}},
                          whole_parts(train));
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
      data::Loader loader(train, {.batch_size = 100, .steps_per_epoch = {}}, whole_parts(train));
      const std::byte* samples = data::resident_samples(train, train.fields[0]);
      for (int step = 0; step < 60; ++step) {
        const data::Batch& batch = loader.next();
        for (int i = 0; i < 100; ++i) {
          right += samples[batch.fields[0].as<std::int32_t>()[i]] == std::byte(i);
        }
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
                        sharded(train, 2, 1, true, true));
    for (int step = 0; step < 60; ++step) loader.next();  // until every image has been decoded
    // The thread may still be at what those steps began.
    const auto allocates = [&] {
      const std::int64_t before = allocations;
      for (int step = 0; step < 100; ++step) loader.next();
      return allocations != before;
    };
    const auto latest = std::chrono::steady_clock::now() + std::chrono::seconds(30);
    bool is_cold = allocates();
    while (is_cold && std::chrono::steady_clock::now() < latest) is_cold = allocates();
    CHECK_FALSE(is_cold);
  }
}
