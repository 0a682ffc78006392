#include <doctest/doctest.h>

#include <atomic>
#include <filesystem>
#include <thread>

#include "data/check_values.h"
#include "data/files.h"
#include "data/formats/recent_arrays.h"
#include "data/loader.h"
#include "data/packed_advice.h"

using namespace meshwork;
using namespace meshwork::test;

namespace {

/// A .npz of samples first..last-1: x [n, 2] of 10 * sample + i, y of the sample.
std::string write_shard(const TempDir& dir, const std::string& name, int first, int last,
                        bool deflate) {
  std::vector<std::int32_t> x;
  std::vector<std::int32_t> y;
  for (int i = first; i < last; ++i) {
    x.insert(x.end(), {10 * i, 10 * i + 1});
    y.push_back(i);
  }
  const std::string count = std::to_string(last - first);
  write_zip(dir.file(name),
            {{"x.npy", npy(npy_dict("<i4", "(" + count + ", 2)"), bytes_of(x))},
             {"y.npy", npy(npy_dict("<i4", "(" + count + ",)"), bytes_of(y))}},
            deflate);
  return dir.file(name);
}

std::vector<std::int32_t> counting(int count) {
  std::vector<std::int32_t> values;
  for (int i = 0; i < count; ++i) values.push_back(i);
  return values;
}

}  // namespace

TEST_CASE("shards of npz are one array, however they are named and kept") {
  for (const bool deflate : {false, true}) {
    const TempDir dir;
    write_shard(dir, "part-b.npz", 3, 4, deflate);
    write_shard(dir, "part-a.npz", 0, 3, deflate);
    write_shard(dir, "part-c.npz", 4, 4, deflate);  // none in it
    write_shard(dir, "part-d.npz", 4, 9, deflate);
    for (const char* files :
         {"'part-*.npz'", "['part-[ab].npz', 'part-[cd].npz']",
          "[part-a.npz, part-b.npz, part-c.npz, part-d.npz]", "{file: 'part-?.npz'}"}) {
      for (const char* cache : {"", ", cache: true", ", cache: false"}) {
        CAPTURE(files);
        CAPTURE(cache);
        const data::Dataset opened =
            dataset(dir, "{format: npz, splits: {train: {x: " + std::string(files) +
                             ", y: " + files + "}}" + cache + "}");
        CHECK(opened.describe() == "train: 9 samples, x float32 [2], y int32 []\n");
        const data::Split& train = opened.split("train");
        CHECK(ints(train, "y") == counting(9));
        CHECK(floats(train, "x") == std::vector<float>{0, 1, 10, 11, 20, 21, 30, 31, 40, 41, 50, 51,
                                                       60, 61, 70, 71, 80, 81});
        std::vector<std::int32_t> some(3);
        for (const std::int64_t i : {0, 1, 2}) {
          const std::vector<std::int64_t> rows{8, 3, 0};
          train.find("x")->source->read(2 * rows[static_cast<std::size_t>(i)] + 1, 1,
                                        reinterpret_cast<std::byte*>(some.data() + i));
        }
        CHECK(some == std::vector<std::int32_t>{81, 31, 1});
      }
    }
    const data::Dataset both =
        dataset(dir, "{format: npz, splits: {train: [part-d.npz, part-a.npz]}}");
    CHECK(ints(both.split("train"), "y") == std::vector<std::int32_t>{4, 5, 6, 7, 8, 0, 1, 2});
  }
}

TEST_CASE("files of two fields that do not hold the same samples are refused") {
  const TempDir dir;
  const auto write = [&](const std::string& name, int count) {
    dir.write(name,
              npy(npy_dict("<i4", "(" + std::to_string(count) + ",)"), bytes_of(counting(count))));
  };
  write("x-1.npy", 1);
  write("x-2.npy", 2);
  write("y-1.npy", 2);
  write("y-2.npy", 1);
  const auto why = [&](const std::string& y) {
    return error_of(
        [&] {
          dataset(dir, "{format: npy, splits: {train: {x: 'x-*.npy', y: " + y + "}}}")
              .split("train");
        },
        ExitCode::kFile);
  };
  CHECK(why("'y-*.npy'") == dir.file("x-1.npy") + ": 1 samples of 'x', but " + dir.file("y-1.npy") +
                                " has 2 of 'y'; list the files of both in one order");
  dataset(dir, "{format: npy, splits: {train: {x: 'x-*.npy', y: [y-2.npy, y-1.npy]}}}")
      .split("train");
}

TEST_CASE("a shard is unpacked when one of its rows is needed") {
  const TempDir dir;
  write_shard(dir, "0.npz", 0, 4, true);
  const std::string payload(5000, 'a');
  write_zip(dir.file("1.npz"),
            {{"x.npy", npy(npy_dict("|u1", "(2500, 2)"), payload)},
             {"y.npy", npy(npy_dict("|u1", "(2500,)"), payload.substr(2500))}},
            false);
  std::string bytes = read_file(dir.file("1.npz"));
  bytes[4000] = 'b';
  dir.write("1.npz", bytes);
  const std::string broken = dir.file("1.npz") + ": array 'x': ";
  const data::Dataset kept = dataset(dir, "{format: npz, splits: {train: '?.npz'}}");
  const data::Split& all = kept.split("train");
  CHECK(contains(error_of([&] { data::resident_samples(all, all.fields[0]); }),
                 broken + "CRC error; fetch the file again"));

  write_shard(dir, "1.npz", 4, 40000, true);  // broken behind what is looked at first
  bytes = read_file(dir.file("1.npz"));
  bytes[bytes.size() / 2] ^= 0x55;
  dir.write("1.npz", bytes);
  const data::Dataset opened =
      dataset(dir, "{format: npz, cache: false, splits: {train: '?.npz'}}");
  const data::Split& train = opened.split("train");
  data::Loader loader(train, {.batch_size = 4, .prefetch = 1}, whole_parts(train));
  CHECK(loader.next().fields[0].as<std::int32_t>()[7] == 31);
  CHECK(contains(error_of([&] { loader.next(); }), broken));
}

TEST_CASE("many devices read shards that are not kept") {
  for (const bool deflate : {false, true}) {
    const TempDir dir;
    for (int i = 0; i < 6; ++i) {
      write_shard(dir, std::to_string(i) + ".npz", 10 * i, 10 * i + 10, deflate);
    }
    const data::Dataset opened =
        dataset(dir, "{format: npz, cache: false, splits: {train: '?.npz'}}");
    std::atomic<int> right = 0;
    std::vector<std::thread> devices;
    for (int device = 0; device < 4; ++device) {
      devices.emplace_back([&] {
        const data::Split& train = opened.split("train");
        data::Loader loader(train, {.batch_size = 15}, whole_parts(train));
        for (int step = 0; step < 8; ++step) {
          const data::Batch& batch = loader.next();
          for (int i = 0; i < 15; ++i) {
            right += batch.fields[1].as<std::int32_t>()[i] == 15 * (step % 4) + i;
          }
        }
      });
    }
    for (std::thread& device : devices) device.join();
    CHECK(right == 4 * 8 * 15);
  }
}

TEST_CASE("a shuffled batch unpacks each shard once, and its samples are where they were") {
  /// Ten files of ten samples of two numbers.
  struct Packed : data::Source {
    mutable std::vector<std::int64_t> files;  ///< as they are unpacked: the last one is kept
    Packed() : Source({"packed", {100, 2}, DType::kInt32}) {}
    bool decodes_samples() const override { return true; }
    bool unpacks_files() const override { return true; }
    void fetch(std::int64_t begin, std::int64_t count, std::byte* out) const override {
      if (files.empty() || files.back() != begin / 20) files.push_back(begin / 20);
      auto* numbers = reinterpret_cast<std::int32_t*>(out);
      for (std::int64_t i = 0; i < count; ++i) {
        numbers[i] = static_cast<std::int32_t>(begin + i);
      }
    }
  };
  const auto source = std::make_shared<Packed>();
  data::Split split{"train", 0, 100, {}};
  split.fields.push_back({.name = "x",
                          .dtype = DType::kInt32,
                          .shape = {2},
                          .source = source,
                          .conversion = {.dtype = DType::kInt32}});
  data::SampleReader reader(split.fields[0], 1, false);
  const std::vector<std::int64_t> samples{93, 7, 45, 91, 0, 44, 7};
  for (const Run& run : {Run{0, 0, 2}, Run{1, 0, 1}}) {
    std::vector<std::int32_t> out(samples.size() * static_cast<std::size_t>(run.count));
    reader.read({samples}, std::span(&run, 1), reinterpret_cast<std::byte*>(out.data()));
    for (std::size_t i = 0; i < samples.size(); ++i) {
      const auto first = static_cast<std::int32_t>(2 * samples[i] + run.global);
      CHECK(out[i * static_cast<std::size_t>(run.count)] == first);
    }
  }
  // The second batch begins where the first one ended.
  CHECK(source->files == std::vector<std::int64_t>{0, 4, 9, 4, 0});
}

TEST_CASE("arrays used last stay unpacked, as many as fit, and two at least") {
  const auto unpacked = [](std::int64_t most, const std::string& files) {
    data::RecentArrays recent(most);
    std::string order;
    for (const char file : files) {
      const auto bytes = recent.get(std::string(1, file), 10, [&] {
        order += file;
        return data::HeapBytes::of_size(10);
      });
      CHECK(bytes->size == 10);
    }
    return order;
  };
  CHECK(unpacked(0, "abababcabc") == "abcabc");
  CHECK(unpacked(29, "abcacb") == "abcab");
  CHECK(unpacked(30, "abcabcdab") == "abcdab");
  data::RecentArrays recent(25);
  CHECK(recent.claim(10) + recent.claim(10) + recent.claim(10) + recent.claim(10) == 25);
}

TEST_CASE("shuffled batches of shards beyond what is kept are told of, with the way out") {
  const TempDir dir;
  for (int i = 0; i < 3; ++i) {
    write_shard(dir, std::to_string(i) + ".npz", 10 * i, 10 * i + 10, true);
  }
  const auto advice = [&](const std::string& cache, const std::string& files) {
    const data::Dataset opened =
        dataset(dir, "{format: npz, " + cache + "splits: {train: '" + files + "'}}");
    return data::packed_advice(opened.split("train"));
  };
  const std::vector<std::string> told = advice("cache: false, ", "?.npz");
  REQUIRE(told.size() == 2);
  CHECK(contains(told[0],
                 "0.npz: array 'x' and 2 more: 'x' takes 240.00 B unpacked, of which "
                 "160.00 B are kept: each shuffled batch unpacks its files again; keep all "
                 "with dataset.cache=true, or store them unpacked: python3 -c "));
  CHECK(advice("", "?.npz").empty());
  CHECK(advice("cache: false, ", "[01].npz").empty());
}

TEST_CASE("every format takes lists and patterns") {
  const TempDir dir;
  dir.write("a-1", idx(8, {2}, "ab"));
  dir.write("a-2.gz", gzip(idx(8, {1}, "c")));
  const data::Dataset packed = dataset(dir, "{format: idx, splits: {train: {y: [a-1, a-2]}}}");
  CHECK(ints(packed.split("train"), "y") == std::vector<std::int32_t>{97, 98, 99});
  dir.write("n/1.npy", npy(npy_dict("|u1", "(2,)"), "ab"));
  dir.write("n/2.npy", npy(npy_dict("<f4", "(1,)"), bytes_of(std::vector<float>{0.5F})));
  const data::Dataset mixed = dataset(dir, "{format: npy, splits: {train: {y: 'n/*.npy'}}}");
  CHECK(floats(mixed.split("train"), "y") == std::vector<float>{97, 98, 0.5F});
  dir.write("1.csv", "a,b\n1,2\n");
  dir.write("2.csv", "a,b\n3,4\n5,6\n");
  const data::Dataset table = dataset(dir, "{format: csv, splits: {train: {x: '?.csv'}}}");
  CHECK(floats(table.split("train"), "x") == std::vector<float>{1, 2, 3, 4, 5, 6});
  dir.write("[1].npy", npy(npy_dict("|u1", "(1,)"), "z"));  // a file has such a name
  const data::Dataset literal = dataset(dir, "{format: npy, splits: {train: {y: '[1].npy'}}}");
  CHECK(ints(literal.split("train"), "y") == std::vector<std::int32_t>{122});
}

TEST_CASE("shards that do not fit together, or are missing, are errors") {
  const TempDir dir;
  dir.write("1.npy", npy(npy_dict("|u1", "(1, 2)"), "ab"));
  dir.write("2.npy", npy(npy_dict("|u1", "(1, 3)"), "abc"));
  const auto failure = [&](const std::string& files, ExitCode code = ExitCode::kFile) {
    return error_of(
        [&] { dataset(dir, "{format: npy, splits: {train: {x: " + files + "}}}").describe(); },
        code);
  };
  CHECK(contains(failure("'?.npy'"), dir.file("2.npy") + ": shape [1, 3], but " +
                                         dir.file("1.npy") + " has shape [1, 2]; files of one"));
  CHECK(contains(failure("'x*.npy'"),
                 "d.yaml:1:35: found no file whose name fits 'x*.npy' in " + dir.path()));
  CHECK(contains(failure("[1.npy, 3.npy]"), "found neither '3.npy' nor '3.npy.gz'"));
  CHECK(contains(failure("[]", ExitCode::kConfiguration), "splits.train.x must name a file"));
  CHECK(contains(failure("['']", ExitCode::kConfiguration), "must name a file, not ''"));
  std::filesystem::create_directory(dir.file("folder.npy"));
  CHECK(contains(failure("'f*.npy'"), "found no file whose name fits 'f*.npy'"));
}
