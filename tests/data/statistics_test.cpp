#include "data/statistics.h"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>

#include "data/files.h"

using namespace meshwork;
using namespace meshwork::test;

namespace {

/// The field of a dataset with one split, of arrays of float64.
data::FieldStatistics statistics(const TempDir& dir, const std::string& shape,
                                 const std::vector<double>& numbers, int threads = 2,
                                 const std::string& keys = "") {
  dir.write("x.npy", npy(npy_dict("<f8", shape), bytes_of(numbers)));
  const data::Dataset opened =
      dataset(dir, "{format: npy, splits: {train: {x: x.npy}}" + keys + "}");
  const data::Split split = opened.rows("train");
  return data::statistics_of(split, split.fields.front(), threads);
}

}  // namespace

TEST_CASE("columns of a table have statistics of their own, after scale and before mean") {
  const TempDir dir;
  const auto columns = statistics(dir, "(3, 2)", {1, 10, 2, 30, 6, 20}, 2,
                                  ", x: {scale: 2, offset: 1, mean: 5, std: 3}");
  REQUIRE(columns.channels.size() == 2);
  CHECK(columns.channels[0].mean == doctest::Approx(7));
  CHECK(columns.channels[0].std() == doctest::Approx(std::sqrt(56.0 / 3)));
  CHECK(columns.channels[0].least == 3);
  CHECK(columns.channels[0].greatest == 13);
  CHECK(columns.channels[1].mean == doctest::Approx(41));
  CHECK(columns.counts.empty());
}

TEST_CASE("images in grey have one channel, colours of images one each") {
  const TempDir dir;
  CHECK(statistics(dir, "(1, 2, 2)", {1, 2, 3, 4}).channels.size() == 1);
  const auto colours = statistics(dir, "(1, 1, 2, 2)", {1, 2, 3, 4});
  REQUIRE(colours.channels.size() == 2);
  CHECK(colours.channels[1].mean == doctest::Approx(3));
}

TEST_CASE("numbers that are not finite are counted and left out") {
  const TempDir dir;
  const double inf = std::numeric_limits<double>::infinity();
  const auto one = statistics(dir, "(4,)", {1, std::nan(""), -inf, 3}).channels.front();
  CHECK(one.count == 2);
  CHECK(one.not_finite == 2);
  CHECK(one.mean == 2);
  CHECK(one.std() == 1);
  CHECK(one.greatest == 3);
}

TEST_CASE("statistics of large offsets are right, and the same for any number of threads") {
  const TempDir dir;
  std::vector<double> numbers;
  for (int i = 0; i < 200000; ++i) numbers.push_back(1e9 + i % 7);
  const auto one = statistics(dir, "(200000,)", numbers, 1).channels.front();
  CHECK(one.mean - 1e9 == doctest::Approx(3).epsilon(1e-4));
  CHECK(one.std() == doctest::Approx(2).epsilon(1e-4));
  const auto three = statistics(dir, "(200000,)", numbers, 3).channels.front();
  CHECK(one.mean == three.mean);
  CHECK(one.squares == three.squares);
  CHECK(three.count == 200000);
}

TEST_CASE("whole numbers are counted, if not too many differ") {
  const TempDir dir;
  const std::string labels = ", x: {dtype: int32}";
  const auto few = statistics(dir, "(5,)", {3, -1, 3, 0, 3}, 2, labels);
  CHECK(few.counts == std::map<std::int64_t, std::int64_t>{{-1, 1}, {0, 1}, {3, 3}});
  std::vector<double> numbers(150000);
  for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<double>(i / 100);
  CHECK(statistics(dir, "(150000,)", numbers, 2, labels).counts.empty());
  numbers.resize(100000);
  CHECK(statistics(dir, "(100000,)", numbers, 2, labels).counts.size() == data::kMostCounted);
  CHECK(statistics(dir, "(3,)", {1, 1.5, 2}, 2, labels).counts.empty());
}

TEST_CASE("numbers near the greatest of all are told of, and are not counted") {
  const TempDir dir;
  const auto large = statistics(dir, "(3,)", {1e300, 1e300, 1e300}).channels.front();
  CHECK(large.mean == 1e300);
  CHECK(large.std() == 0);
  const auto labels = statistics(dir, "(2,)", {1e300, 1}, 1, ", x: {dtype: int32}");
  CHECK(labels.counts.empty());
}

TEST_CASE("of a time series rows are counted once, not once for each window") {
  const TempDir dir;
  const auto rows =
      statistics(dir, "(5, 1)", {1, 2, 3, 4, 10}, 2, ", timeseries: {sequence_length: 3}");
  CHECK(rows.channels.front().count == 5);
  CHECK(rows.channels.front().mean == doctest::Approx(4));
}
