#include "data/dataset.h"

#include <doctest/doctest.h>

#include <cmath>
#include <filesystem>

#include "base/rng.h"
#include "config/yaml.h"
#include "data/files.h"
#include "data/find_file.h"
#include "support/environment_variable.h"

using namespace meshwork;
using namespace meshwork::test;
using meshwork::testing::EnvironmentVariable;

namespace {

std::string bad_description(const std::string& text) {
  return error_of([&] { data::Dataset(config::parse_yaml(text, "d.yaml"), 1); },
                  ExitCode::kConfiguration);
}

/// Samples 0..n-1 with value and label their number.
data::Dataset counting(const TempDir& dir, int samples, const std::string& more = "") {
  std::string bytes;
  for (int i = 0; i < samples; ++i) bytes += static_cast<char>(i);
  dir.write("n", idx(8, {samples}, bytes));
  return dataset(dir, "{format: idx, splits: {train: {x: n, y: n}}" + more + "}");
}

std::int64_t kept_bytes(const data::Dataset& dataset) {
  const data::Split split = dataset.split("train");
  std::int64_t bytes = 0;
  for (const data::Field& field : split.fields) bytes += field.source->kept_bytes();
  return bytes;
}

}  // namespace

TEST_CASE("mistakes in a description are found without files, with place and nearest") {
  CHECK(contains(bad_description("{splits: {}}"), "d.yaml:1:1: dataset needs the key 'format'"));
  CHECK(contains(bad_description("{format: idz, splits: {train: a}}"),
                 "d.yaml:1:10: unknown dataset format 'idz'; nearest: 'idx'"));
  CHECK(contains(bad_description("{format: idx}"), "dataset needs the key 'splits'"));
  CHECK(contains(bad_description("{format: idx, splits: {}}"), "at least one split"));
  CHECK(contains(bad_description("{format: idx, splits: [a]}"), "splits must be a map"));
  CHECK(contains(bad_description("{format: idx, splits: {trian: {x: a}}}"),
                 "d.yaml:1:24: unknown split 'trian'; nearest: 'train'"));
  CHECK(contains(bad_description("{format: idx, splits: {train: {x: a}}, hnit: b}"),
                 "d.yaml:1:40: dataset has no key 'hnit'; nearest: 'hint'"));
  CHECK(contains(bad_description("{format: idx, splits: {train: {x: a}}, x: {scal: 2}}"),
                 "d.yaml:1:44: field 'x' has no key 'scal'; nearest: 'scale'"));
  CHECK(contains(bad_description("{format: idx, splits: {train: {x: a}}, x: {dtype: uint8}}"),
                 "dtype of a field must be float32 or int32, not 'uint8'"));
  CHECK(contains(bad_description("{format: idx, splits: {train: {x: a}}, x: {one_hot: 0}}"),
                 "one_hot must be the number of classes, not 0"));
  CHECK(
      contains(bad_description("{format: idx, splits: {train: {x: a, y: b}, test: {x: c, yy: d}}}"),
               "split 'test' has a field 'yy' that others do not have"));
  CHECK(contains(bad_description("{format: idx, splits: {train: {name: a}}}"),
                 "a field cannot be called 'name'"));
  CHECK(contains(bad_description("{format: idx, splits: {train: {iteration: a}}}"),
                 "d.yaml:1:32: a field cannot be called 'iteration': every step of training is "
                 "given that; rename it"));
  CHECK(contains(bad_description("{format: idx, splits: {train: {x: {file: a, arry: b}}}}"),
                 "splits.train.x has no key 'arry'"));
  CHECK(contains(bad_description("{format: idx, splits: {train: {x: []}}}"),
                 "splits.train.x must name a file"));
  CHECK(contains(bad_description("{format: idx, splits: {train: {x: a}}, take: 0}"),
                 "take must be a positive number of samples, not 0"));
  CHECK(contains(bad_description("{format: idx, splits: {train: {x: a}}, take: {tran: 5}}"),
                 "take has no key 'tran'; nearest: 'train'"));
  CHECK(contains(bad_description("{format: idx, header: true, splits: {train: {x: a}}}"),
                 "dataset has no key 'header'"));
  CHECK(contains(bad_description("{format: synthetic, splits: {train: {x: {norml: [3]}}}}"),
                 "splits.train.x has no key 'norml'; nearest: 'normal'"));
  CHECK(contains(bad_description("{format: synthetic, splits: {train: {x: {normal: [3, 0]}}}}"),
                 "normal: extent 0 is not positive"));
  CHECK(contains(bad_description("{format: synthetic, splits: {train: {x: {integers: [3]}}}}"),
                 "splits.train.x needs the key 'below'"));
  CHECK(contains(bad_description("{format: synthetic, splits: {train: {x: }}}"),
                 "no split has a value for field 'x'; name its file"));
}

TEST_CASE("files are looked for in MESHWORK_DATA, beside the description, in listed places") {
  const TempDir root;
  const EnvironmentVariable data("MESHWORK_DATA", root.file("env").c_str());
  const EnvironmentVariable other("MESHWORK_TEST_PLACE", root.file("place").c_str());
  const auto places = data::search_directories(
      "digits", root.file("here"),
      {"sub", "/somewhere", "$MESHWORK_TEST_PLACE/x", "$MESHWORK_TEST_UNSET", "."});
  CHECK(places == std::vector{root.file("env/digits"), root.file("here"), root.file("here/sub"),
                              std::string("/somewhere"), root.file("place/x")});
  CHECK(data::search_directories("", root.file("here"), {"sub"}) ==
        std::vector{root.file("here"), root.file("here/sub"), root.file("env")});
  const config::Location at{"d.yaml", 3, 4};
  CHECK(error_of([&] { data::find_file("a.gz", places, at, "make it"); }) ==
        "d.yaml:3:4: found neither 'a.gz' nor 'a' in " + places[0] + ", " + places[1] + ", " +
            places[2] + ", /somewhere, " + places[4] + "; hint: make it");
  root.write("place/x/a", "");
  CHECK(data::find_file("a.gz", places, at, "") == root.file("place/x/a"));
  root.write("here/sub/a.gz", "");
  CHECK(data::find_file("a", places, at, "") == root.file("here/sub/a.gz"));
  root.write("env/digits/a", "");
  CHECK(data::find_file("a.gz", places, at, "") == root.file("env/digits/a"));
  CHECK(data::find_file(root.file("here/sub/a"), places, at, "") == root.file("here/sub/a.gz"));
  CHECK(contains(error_of([&] { data::find_file("/no/such", places, at, ""); }),
                 "found neither '/no/such' nor '/no/such.gz'"));
}

TEST_CASE("a pattern takes a packed file for the one beside it that is not") {
  const TempDir dir;
  for (const char* name : {"p-1.csv", "p-1.csv.gz", "p-2.csv.gz", "p-3.csv"}) dir.write(name, "");
  CHECK(data::find_files("p-*", {dir.path()}, {}, "") ==
        std::vector{dir.file("p-1.csv"), dir.file("p-2.csv.gz"), dir.file("p-3.csv")});
  for (const char* pattern : {"p-*.csv", "p-*.csv.gz"}) {
    CAPTURE(pattern);
    CHECK(data::find_files(pattern, {dir.path()}, {}, "") ==
          std::vector{dir.file("p-1.csv"), dir.file("p-2.csv.gz"), dir.file("p-3.csv")});
  }
}

TEST_CASE("paths start in the folder that a description names") {
  const TempDir dir;
  dir.write("here/t.csv", "1,2\n");
  dir.write("there/t.csv", "1,2\n3,4\n");
  const std::string rest = ", format: csv, header: false, splits: {train: t.csv}, y: {columns: 1}}";
  for (const char* folder : {"here", "there"}) {
    const data::Dataset opened = dataset(dir, "{folder: " + dir.file(folder) + rest);
    CHECK(opened.split("train").samples == (std::string(folder) == "here" ? 1 : 2));
  }
}

TEST_CASE("formats that are packed themselves are not read from .gz, and say so") {
  const TempDir dir;
  dir.write("a.npz.gz", "x");
  dir.write("a.h5.gz", "x");
  for (const auto& [format, file] : {std::pair("npz", "a.npz"), std::pair("hdf5", "a.h5")}) {
    const data::Dataset opened =
        dataset(dir, fmt::format("{{format: {}, splits: {{train: {{x: {}}}}}}}", format, file));
    CHECK(contains(error_of([&] { opened.split("train"); }), "is not read from .gz; unpack it"));
  }
}

TEST_CASE("an unset MESHWORK_DATA is told") {
  const TempDir dir;
  const EnvironmentVariable data("MESHWORK_DATA", "");
  const data::Dataset opened =
      dataset(dir, "{format: idx, hint: ask around, splits: {train: {x: gone}}}");
  const std::string message = error_of([&] { opened.split("train"); });
  CHECK(contains(message, "d.yaml:1:53: found neither 'gone' nor 'gone.gz' in " + dir.path()));
  CHECK(contains(message, "MESHWORK_DATA, where data sets can be kept, is not set; hint: ask"));
}

TEST_CASE("opening reads no payload, and only the split that is asked for") {
  const TempDir dir;
  std::string broken = gzip(idx(8, {9000}, std::string(9000, 'a')));
  broken[broken.size() - 7] ^= 1;  // the checksum
  dir.write("n", broken);
  const data::Dataset opened =
      dataset(dir, "{format: idx, splits: {train: {x: n}, test: {x: missing}}}");
  CHECK(opened.split("train").samples == 9000);
  CHECK(contains(error_of([&] { floats(opened.split("train"), "x"); }), "damaged"));
  CHECK(contains(error_of([&] { floats(opened.split("train"), "x"); }), "damaged"));
  CHECK(contains(error_of([&] { opened.split("test"); }), "found neither 'missing'"));
  CHECK(contains(error_of([&] { opened.split("validation"); }, ExitCode::kConfiguration),
                 "dataset has no split 'validation'; it has train, test"));
  CHECK(opened.validation_name() == "test");
}

TEST_CASE("splits of one dataset must look alike") {
  const TempDir dir;
  dir.write("a", idx(8, {2, 2}, "1234"));
  dir.write("b", idx(8, {1, 4}, "1234"));
  const data::Dataset opened = dataset(dir, "{format: idx, splits: {train: {x: a}, test: {x: b}}}");
  CHECK(contains(error_of([&] { opened.describe(); }),
                 "'x' of split 'test' is float32 [4], that of 'train' is float32 [2]"));
}

TEST_CASE("whole labels are int32 unless told otherwise; take limits the samples") {
  const TempDir dir;
  CHECK(counting(dir, 5).describe() == "train: 5 samples, x float32 [], y int32 []\n");
  CHECK(counting(dir, 5, ", y: {scale: 0.5}, x: {dtype: int32}").describe() ==
        "train: 5 samples, x int32 [], y float32 []\n");
  const data::Dataset three = counting(dir, 5, ", take: 3");
  CHECK(ints(three.split("train"), "y") == std::vector<std::int32_t>{0, 1, 2});
  CHECK(counting(dir, 5, ", take: {train: 9}").split("train").samples == 5);
  const data::Dataset shifted = counting(dir, 3, ", y: {dtype: int32, offset: -1}");
  CHECK(ints(shifted.split("train"), "y") == std::vector<std::int32_t>{-1, 0, 1});
}

TEST_CASE("values that int32 cannot hold are errors") {
  const TempDir dir;
  const data::Dataset halves = counting(dir, 4, ", y: {dtype: int32, scale: 0.5}");
  CHECK(contains(error_of([&] { ints(halves.split("train"), "y"); }),
                 dir.file("n") + ": sample 1: 1 * 0.5 + 0 = 0.5 is not an int32"));
}

TEST_CASE("finite numbers that float32 cannot hold are errors, but for those that are normalized") {
  const TempDir dir;
  dir.write("n.csv", "a,b\n1,3e38\n2,-1e39\n5,6\n");
  const auto read = [&](const std::string& more) {
    const data::Dataset opened = dataset(
        dir, "{format: csv, splits: {train: n.csv}, x: {columns: b" + more + "}, y: {columns: a}}");
    return floats(opened.split("train"), "x");
  };
  CHECK(contains(error_of([&] { read(""); }),
                 dir.file("n.csv") + ": sample 1: -1e+39 is infinite in float32"));
  CHECK(read(", scale: 0.1").size() == 3);
  CHECK(read(", mean: 1.0e39, std: 1.0e38").size() == 3);
}

TEST_CASE("one-hot labels") {
  const TempDir dir;
  const data::Dataset opened = counting(dir, 3, ", y: {one_hot: 4}");
  const data::Split& train = opened.split("train");
  CHECK(train.find("y")->shape == Shape{4});
  CHECK(floats(train, "y") == std::vector<float>{1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0});
  const data::Dataset few = counting(dir, 3, ", y: {one_hot: 2, dtype: int32}");
  CHECK(contains(error_of([&] { ints(few.split("train"), "y"); }),
                 "sample 2: label 2 is not in 0..1"));
}

TEST_CASE("validation_split takes the last part, as Keras does") {
  const TempDir dir;
  const data::Dataset opened = counting(dir, 10);
  const auto [train, validation] = data::split_validation(opened.split("train"), 0.25);
  CHECK(ints(train, "y") == std::vector<std::int32_t>{0, 1, 2, 3, 4, 5, 6});
  CHECK(ints(validation, "y") == std::vector<std::int32_t>{7, 8, 9});
  const auto [most, last] = data::split_validation(validation, 0.2);
  CHECK(ints(most, "y") == std::vector<std::int32_t>{7, 8});
  CHECK(ints(last, "y") == std::vector<std::int32_t>{9});
  const auto refuse = [&](double fraction) {
    return error_of([&] { data::split_validation(opened.split("train"), fraction); },
                    ExitCode::kConfiguration);
  };
  CHECK(refuse(0.95) == "validation_split 0.95 of 10 samples leaves 0 to train and 10 to validate");
  CHECK(contains(refuse(1.0), "must be between 0 and 1, not 1"));
  CHECK(contains(refuse(std::nan("")), "must be between 0 and 1"));
}

TEST_CASE("fields can be selected") {
  const TempDir dir;
  const data::Dataset opened = counting(dir, 2);
  const data::Split only = data::select_fields(opened.split("train"), {"y"});
  CHECK(only.fields.size() == 1);
  CHECK(only.fields[0].name == "y");
  CHECK(contains(error_of([&] { data::select_fields(only, {"x"}); }, ExitCode::kConfiguration),
                 "split 'train' has no field 'x'"));
}

TEST_CASE("synthetic arrays are drawn by seed, field and element") {
  const TempDir dir;
  const std::string text =
      "{format: synthetic, splits: {train: {x: {normal: [50, 4, 5]}, y: {integers: [50], below: 3},"
      " u: {uniform: [50]}}}}";
  const data::Dataset opened = dataset(dir, text, 7);
  CHECK(opened.describe() == "train: 50 samples, x float32 [4, 5], y int32 [], u float32 []\n");
  const auto x = floats(opened.split("train"), "x");
  const std::uint64_t key = random_key(7, "train/x");
  for (std::size_t i = 0; i < x.size(); ++i) CHECK(x[i] == normal_at(key, 0, i));
  std::vector<int> counts(3);
  for (const std::int32_t label : ints(opened.split("train"), "y")) ++counts.at(label);
  for (const int count : counts) CHECK(count > 5);
  CHECK(floats(dataset(dir, text, 8).split("train"), "x") != x);
  const std::string fixed = "{seed: 7, " + text.substr(1);
  CHECK(floats(dataset(dir, fixed, 8).split("train"), "x") == x);
}

TEST_CASE("a synthetic array too large to keep is drawn in parts, to the same values") {
  const TempDir dir;
  const data::Dataset opened =
      dataset(dir, "{format: synthetic, splits: {train: {x: {normal: [5000000000, 1000]}}}}", 7);
  const data::Field& x = opened.split("train").fields[0];
  std::vector<float> part(2000);
  x.source->read(4999999999000, 1000, reinterpret_cast<std::byte*>(part.data()));
  x.source->read(3000, 1000, reinterpret_cast<std::byte*>(part.data() + 1000));
  const std::uint64_t key = random_key(7, "train/x");
  for (std::uint64_t i = 0; i < 1000; ++i) {
    CHECK(part[i] == normal_at(key, 0, 4999999999000 + i));
    CHECK(part[1000 + i] == normal_at(key, 0, 3000 + i));
  }
}

TEST_CASE("the descriptions that come with Meshwork are well formed") {
  for (const auto& entry : std::filesystem::directory_iterator("datasets")) {
    if (entry.path().extension() != ".yaml") continue;
    CAPTURE(entry.path().string());
    const auto description = config::load_yaml(entry.path().string());
    const data::Dataset opened(description, 1);
    CHECK(opened.name() == entry.path().stem());
    CHECK(opened.has("train"));
  }
  const data::Dataset guide(config::load_yaml("datasets/keras_guide_normal.yaml"), 1);
  CHECK(guide.describe() == "train: 128 samples, x float32 [28, 28, 1], y float32 [10]\n");
}

TEST_CASE("what a data set keeps in memory is known before it is read") {
  const TempDir dir;
  const auto kept = [&](const std::string& more) {
    const std::string text =
        "{format: synthetic, splits: {train: {x: {normal: [10, 3]}, y: {integers: [10], below: "
        "2}}}";
    return kept_bytes(dataset(dir, text + more + "}"));
  };
  CHECK(kept("") == 10 * 3 * 4 + 10 * 4);
  CHECK(kept(", cache: false") == 0);
  CHECK(kept_bytes(counting(dir, 9)) == 2 * 9);  // as stored, a byte each
}
