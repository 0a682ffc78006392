// Windows of rows in the order of time, and splits that are parts of the same files.
#include <doctest/doctest.h>

#include <numeric>

#include "data/files.h"

using namespace meshwork;
using namespace meshwork::test;

namespace {

using Floats = std::vector<float>;

/// Row i is "i,10 i,100 i".
std::string table(int rows, int first = 0) {
  std::string text = "a,b,c\n";
  for (int i = first; i < first + rows; ++i) {
    text += std::to_string(i) + "," + std::to_string(10 * i) + "," + std::to_string(100 * i) + "\n";
  }
  return text;
}

data::Dataset series(const TempDir& dir, const std::string& keys, const std::string& fields = {}) {
  return dataset(
      dir, "{format: csv, splits: {train: t.csv}, x: {columns: [a, b]}, y: {columns: c}" + fields +
               ", timeseries: {" + keys + "}}");
}

std::string refusal(const TempDir& dir, const std::string& text) {
  return error_of([&] { dataset(dir, text).describe(); }, ExitCode::kConfiguration);
}

}  // namespace

TEST_CASE("a sample of a timeseries is rows, and its target the next one") {
  const TempDir dir;
  dir.write("t.csv", table(5));
  const data::Dataset opened = series(dir, "sequence_length: 3");
  CHECK(opened.describe() == "train: 2 samples, x float32 [3, 2], y float32 []\n");
  const data::Split& train = opened.split("train");
  CHECK(floats(train, "x") == Floats{0, 0, 1, 10, 2, 20, 1, 10, 2, 20, 3, 30});
  CHECK(floats(train, "y") == Floats{300, 400});
}

TEST_CASE(
    "rate, stride, delay and length of a target are Keras's, or as the targets that it gets") {
  const TempDir dir;
  dir.write("t.csv", table(12));
  // data = rows, targets = rows[delay:], sampling_rate=2, sequence_stride=3
  const data::Dataset opened = series(
      dir, "sequence_length: 2, sampling_rate: 2, sequence_stride: 3, delay: 5, target_length: 2");
  const data::Split& train = opened.split("train");
  CHECK(train.find("y")->shape == Shape{2});
  CHECK(floats(train, "x") == Floats{0, 0, 2, 20, 3, 30, 5, 50});
  CHECK(floats(train, "y") == Floats{500, 700, 800, 1000});

  const data::Dataset now = series(dir, "sequence_length: 3, delay: 2, sequence_stride: 9");
  CHECK(floats(now.split("train"), "y") == Floats{200, 1100});
}

TEST_CASE("any fields may be targets, and without targets samples go to the last row") {
  const TempDir dir;
  dir.write("t.csv", table(4));
  const data::Dataset both =
      series(dir, "sequence_length: 2, targets: [x, y]", ", sample_weight: {columns: a}");
  CHECK(both.describe() ==
        "train: 2 samples, x float32 [2], y float32 [], sample_weight float32 [2]\n");

  data::Dataset unlabelled = series(dir, "sequence_length: 2");
  unlabelled.keep_fields({"x"});
  CHECK(unlabelled.describe() == "train: 3 samples, x float32 [2, 2]\n");
}

TEST_CASE("no sample of a timeseries goes over the end of a file or of a part") {
  const TempDir dir;
  dir.write("s-0.csv", table(5));
  dir.write("s-1.csv", table(2, 50));
  dir.write("s-2.csv", table(5, 100));
  const data::Dataset files =
      dataset(dir,
              "{format: csv, splits: {train: 's-*.csv'}, x: {columns: [a]}, y: {columns: b}, "
              "timeseries: {sequence_length: 2}}");
  CHECK(floats(files.split("train"), "y") == Floats{20, 30, 40, 1020, 1030, 1040});

  const data::Dataset parts = dataset(
      dir,
      "{format: csv, files: 's-*.csv', splits: {train: 0.75, test: 0.25}, x: {columns: [a]}, "
      "y: {columns: b}, timeseries: {sequence_length: 2}}");
  CHECK(floats(parts.split("train"), "y") == Floats{20, 30, 40});
  CHECK(floats(parts.split("test"), "y") == Floats{1040});
  CHECK(&parts.split("train").find("x")->source->holder() ==
        &parts.split("test").find("x")->source->holder());
  CHECK(parts.split("train").find("y")->source->place_of(1).sample == 3);
}

TEST_CASE("windows end with the files of every field, however many each has") {
  const TempDir dir;
  const auto numbers = [&](const std::string& name, const Floats& values) {
    dir.write(name, npy(npy_dict("<f4", fmt::format("({},)", values.size())), bytes_of(values)));
  };
  numbers("x.npy", {0, 1, 2, 3, 4});
  numbers("y-0.npy", {0, 10, 20});
  numbers("y-1.npy", {30, 40});
  const data::Dataset opened =
      dataset(dir,
              "{format: npy, splits: {train: {x: x.npy, y: 'y-*.npy'}}, timeseries: "
              "{sequence_length: 1}}");
  CHECK(floats(opened.split("train"), "x") == Floats{0, 1, 3});
  CHECK(floats(opened.split("train"), "y") == Floats{10, 20, 40});
}

TEST_CASE("rows of a timeseries may be arrays, one-hot vectors and normalized") {
  const TempDir dir;
  dir.write("x.npy", npy(npy_dict("<f4", "(4, 1, 2)"), bytes_of(Floats{0, 1, 2, 3, 4, 5, 6, 7})));
  dir.write("y.npy", npy(npy_dict("<i4", "(4,)"), bytes_of(std::vector<std::int32_t>{0, 1, 2, 1})));
  const data::Dataset opened = dataset(
      dir,
      "{format: npy, splits: {train: {x: x.npy, y: y.npy}}, x: {mean: [0, 1], std: [2, 1]}, "
      "y: {one_hot: 3}, timeseries: {sequence_length: 2, target_length: 2}}");
  CHECK(opened.describe() == "train: 1 samples, x float32 [2, 1, 2], y float32 [2, 3]\n");
  CHECK(floats(opened.split("train"), "x") == Floats{0, 0, 1, 2});
  CHECK(floats(opened.split("train"), "y") == Floats{0, 0, 1, 0, 1, 0});
}

TEST_CASE("a device reads its part of each window") {
  const TempDir dir;
  dir.write("t.csv", table(6));
  const data::Dataset opened = series(dir, "sequence_length: 3, sampling_rate: 2, delay: 4");
  const data::Source& x = *opened.split("train").find("x")->source;
  std::vector<double> part(3);
  x.read(3, 3,
         reinterpret_cast<std::byte*>(part.data()));  // of rows 0, 2, 4: from the second's b on
  CHECK(part == std::vector<double>{20, 4, 40});
  x.read(5, 3, reinterpret_cast<std::byte*>(part.data()));  // over the end of a window
  CHECK(part == std::vector<double>{40, 1, 10});
}

TEST_CASE("rows that stay on disk are read with what lies between them") {
  const TempDir dir;
  // numpy.savez, whose arrays are read from their place
  Floats rows(40);
  std::iota(rows.begin(), rows.end(), 0.0F);
  write_zip(dir.file("x.npz"), {{"x.npy", npy(npy_dict("<f4", "(20, 2)"), bytes_of(rows))}}, false);
  const auto source = [&](const std::string& cache) {
    const data::Dataset opened = dataset(
        dir, "{format: npz, cache: " + cache +
                 ", splits: {train: {x: x.npz}}, timeseries: {sequence_length: 4, sampling_rate: "
                 "3, sequence_stride: 2}}");
    return opened.split("train").find("x")->source;
  };
  const auto kept = source("true"), stored = source("false");
  const std::int64_t elements = num_elements(kept->info().shape);
  REQUIRE(elements == 6 * 4 * 2);
  for (std::int64_t begin = 0; begin < elements; ++begin) {
    for (std::int64_t count = 0; begin + count <= elements; ++count) {
      Floats a(static_cast<std::size_t>(count)), b(a);
      kept->read(begin, count, reinterpret_cast<std::byte*>(a.data()));
      stored->read(begin, count, reinterpret_cast<std::byte*>(b.data()));
      REQUIRE(a == b);
    }
  }
}

TEST_CASE("a timeseries that cannot be is refused") {
  const TempDir dir;
  dir.write("t.csv", table(4));
  const auto refuse = [&](const std::string& keys) {
    return error_of([&] { series(dir, keys).describe(); }, ExitCode::kConfiguration);
  };
  CHECK(contains(refuse("sequence_length: 4"),
                 "timeseries: a sample with its target takes 5 rows, but split 'train' has 4 ("));
  CHECK(contains(refuse("delay: 1"), "sequence_length"));
  CHECK(contains(refuse("sequence_length: 0"), "sequence_length is 0, not between 1 and"));
  CHECK(contains(refuse("sequence_length: 2, delay: -1"), "delay is -1, not between 0 and"));
  CHECK(contains(refuse("sequence_length: 2, targets: z"), "there is no field 'z'"));
  CHECK(contains(refuse("sequence_length: 2, sequense_stride: 2"), "nearest: 'sequence_stride'"));
  CHECK(contains(refusal(dir,
                         "{format: text, context: 2, splits: {train: t.csv}, timeseries: "
                         "{sequence_length: 2}}"),
                 "windows of tokens are cut by context and stride"));
  CHECK(contains(
      refusal(dir,
              "{format: synthetic, splits: {train: {x: {normal: [9, 4, 4, 3]}}}, x: {augment: "
              "[RandomFlip: {mode: horizontal}]}, timeseries: {sequence_length: 2}}"),
      "augment is for images, not for a timeseries"));
}

TEST_CASE("splits may be parts of the same files") {
  const TempDir dir;
  dir.write("t.csv", table(10));
  dir.write("new.csv", table(1, 70));
  const std::string fields = "x: {columns: a}, y: {columns: b}}";
  const data::Dataset opened = dataset(
      dir, "{format: csv, files: t.csv, splits: {train: 0.7, validation: 0.2, test: new.csv}, " +
               fields);
  CHECK(floats(opened.split("validation"), "x") == Floats{7, 8});
  CHECK(opened.split("train").samples == 7);
  CHECK(floats(opened.split("test"), "y") == Floats{700});
  CHECK(opened.split("train").find("x")->source == opened.split("validation").find("x")->source);

  dir.write("x.npy", npy(npy_dict("<f4", "(4,)"), bytes_of(Floats{0, 1, 2, 3})));
  const std::string arrays = "{format: npy, files: {x: x.npy, y: x.npy}, splits: {train: ";
  CHECK(floats(dataset(dir, arrays + "0.5, test: 0.5}}").split("test"), "y") == Floats{2, 3});
  CHECK(contains(refusal(dir, arrays + "0.9, test: 0.2}}"),
                 "splits.test is 0.2 of the `files`, of which 0.1"));
  CHECK(contains(refusal(dir, arrays + "0.1, test: 0.9}}"),
                 "splits.train takes none of the 4 samples of "));
  CHECK(contains(refusal(dir, arrays + "{x: x.npy, y: x.npy}}}"), "no split is a part of `files`"));
  CHECK(contains(refusal(dir, "{format: csv, splits: {train: 0.7, test: t.csv}}"),
                 "splits.train is a part of `files`, but there are none; name them"));
  CHECK(contains(refusal(dir, "{format: synthetic, files: a, splits: {train: {x: {normal: [4]}}}}"),
                 "dataset has no key 'files'"));
}
