// format: tokens
#include <doctest/doctest.h>

#include "data/check_values.h"
#include "data/files.h"
#include "data/loader.h"

using namespace meshwork;
using namespace meshwork::test;

namespace {

using Ints = std::vector<std::int32_t>;

/// llm.c's header.
std::string header(std::uint32_t magic, std::uint32_t version, std::uint32_t tokens) {
  std::vector<std::uint32_t> numbers(256);
  numbers[0] = magic;
  numbers[1] = version;
  numbers[2] = tokens;
  return bytes_of(numbers);
}

const std::vector<std::uint16_t> kShorts{5, 50256, 65535, 7};
const std::vector<std::uint32_t> kLongs{5, 128000, 70000, 7};

std::string description(const std::string& keys = "") {
  return "{format: tokens, context: 3, splits: {train: t.bin}" + keys + "}";
}

Ints x_of(const TempDir& dir, const std::string& file, const std::string& keys = "") {
  dir.write("t.bin", file);
  return ints(dataset(dir, description(keys)).split("train"), "x");
}

std::string failure(const TempDir& dir, const std::string& file, const std::string& keys = "") {
  dir.write("t.bin", file);
  return error_of([&] { dataset(dir, description(keys)).describe(); });
}

}  // namespace

TEST_CASE("tokens of flat files, of llm.c's and of numpy's") {
  const TempDir dir;
  const Ints shorts{5, 50256, 65535};
  const Ints longs{5, 128000, 70000};
  const std::string header16 = header(20240520, 1, 4);
  const std::string header32 = header(20240801, 7, 4);
  CHECK(x_of(dir, bytes_of(kShorts)) == shorts);
  CHECK(x_of(dir, bytes_of(kLongs), ", dtype: uint32") == longs);
  CHECK(x_of(dir, header16 + bytes_of(kShorts)) == shorts);
  CHECK(x_of(dir, header32 + bytes_of(kLongs)) == longs);
  CHECK(x_of(dir, header32 + bytes_of(kLongs), ", dtype: uint32") == longs);
  CHECK(x_of(dir, npy(npy_dict("<u2", "(4,)"), bytes_of(kShorts))) == shorts);
  CHECK(x_of(dir, npy(npy_dict("<u4", "(4,)"), bytes_of(kLongs))) == longs);
  CHECK(x_of(dir, npy(npy_dict(">i8", "(4,)"),
                      bytes_of(std::vector<std::int64_t>{5, 128000, 70000, 7}, true))) == longs);
  CHECK(x_of(dir, gzip(bytes_of(kShorts))) == shorts);
  CHECK(x_of(dir, gzip(header32 + bytes_of(kLongs))) == longs);
  dir.write("t.bin", bytes_of(kShorts));
  const data::Dataset opened = dataset(dir, description());
  CHECK(opened.describe() == "train: 1 windows of 3 tokens, x int32 [3], y int32 [3]\n");
  CHECK(ints(opened.split("train"), "y") == Ints{50256, 65535, 7});
}

TEST_CASE("shards of tokens are one row, and splits may be fractions of it") {
  const TempDir dir;
  dir.write("s-0.bin", header(20240520, 1, 3) + bytes_of(std::vector<std::uint16_t>{0, 1, 2}));
  dir.write("s-1.bin", bytes_of(std::vector<std::uint16_t>{3, 4, 5, 6, 7}));
  for (const char* cache : {"", ", cache: false"}) {
    const data::Dataset opened =
        dataset(dir, std::string("{format: tokens, context: 2, stride: 1, files: 's-*.bin', "
                                 "splits: {train: 0.5, test: 0.5}") +
                         cache + "}");
    CHECK(ints(opened.split("train"), "x") == Ints{0, 1, 1, 2});
    CHECK(ints(opened.split("train"), "y") == Ints{1, 2, 2, 3});
    CHECK(ints(opened.split("test"), "y") == Ints{5, 6, 6, 7});
    CHECK(&opened.split("train").find("x")->source->holder() ==
          &opened.split("test").find("y")->source->holder());
  }
}

TEST_CASE("a split's files are opened when it is asked for") {
  const TempDir dir;
  dir.write("t.bin", bytes_of(kShorts));
  const data::Dataset opened =
      dataset(dir, "{format: tokens, context: 3, splits: {train: t.bin, test: no.bin}}");
  CHECK(ints(opened.split("train"), "x").size() == 3);
  CHECK(contains(error_of([&] { opened.split("test"); }), "found neither 'no.bin'"));
}

TEST_CASE("broken files of tokens are errors") {
  const TempDir dir;
  const std::string path = dir.file("t.bin");
  const std::string good = header(20240520, 1, 4) + bytes_of(kShorts);
  CHECK(failure(dir, good).empty());
  CHECK(contains(failure(dir, bytes_of(kShorts) + "z"),
                 path + ": 9 bytes are no whole number of uint16 tokens"));
  CHECK(contains(failure(dir, bytes_of(kShorts) + "zz", ", dtype: uint32"),
                 path + ": 10 bytes are no whole number of uint32 tokens"));
  CHECK(contains(failure(dir, good.substr(0, 100)), "100 bytes, but the header alone has 1024"));
  CHECK(contains(failure(dir, good.substr(0, good.size() - 1)),
                 "but shape [4] of uint16 needs 1032; the file is cut off"));
  CHECK(contains(failure(dir, good + "zz"), "has something else appended"));
  CHECK(contains(failure(dir, header(20240520, 2, 4) + bytes_of(kShorts)),
                 "version 2 of the header with magic number 20240520; known: 1"));
  CHECK(contains(failure(dir, header(20240801, 7, 4) + bytes_of(kShorts)),
                 "but shape [4] of uint32 needs"));
  CHECK(contains(failure(dir, good, ", dtype: uint32"),
                 "its header says uint16, but the description `dtype: uint32`"));
  CHECK(contains(failure(dir, npy(npy_dict("<u2", "(2, 2)"), bytes_of(kShorts))),
                 "uint16 of shape [2, 2] are no row of tokens"));
  CHECK(contains(failure(dir, npy(npy_dict("<f4", "(4,)"), std::string(16, '\0'))),
                 "float32 of shape [4] are no row of tokens"));
  CHECK(contains(error_of([&] { dataset(dir, description(", dtype: int8")).describe(); },
                          ExitCode::kConfiguration),
                 "int8"));
}

TEST_CASE("files of larger numbers are not read as uint16") {
  const TempDir dir;
  const std::string wide = bytes_of(std::vector<std::uint32_t>{7, 1, 2, 0, 5});
  CHECK(contains(failure(dir, wide),
                 dir.file("t.bin") + ": every second number is 0, read as uint16; tokens of uint32 "
                                     "want `dtype: uint32`"));
  CHECK(contains(failure(dir, bytes_of(std::vector<std::int64_t>{7, 1, 2, 5})),
                 "every second number is 0"));
  CHECK(failure(dir, wide, ", dtype: uint32").empty());
  CHECK(failure(dir, wide, ", dtype: uint16").empty());
  CHECK(failure(dir, bytes_of(std::vector<std::uint16_t>{7, 0, 1, 0, 2, 3})).empty());
  CHECK(failure(dir, std::string(64, '\0')).empty());
}

TEST_CASE("tokens that a table has not are errors that say where they are") {
  const TempDir dir;
  dir.write("t.bin", bytes_of(std::vector<std::uint16_t>{0, 1, 2, 3, 9, 5, 6}));
  const data::Dataset opened = dataset(dir, "{format: tokens, context: 2, splits: {train: t.bin}}");
  data::Split train = opened.split("train");
  train.fields[0].table_rows = 9;
  train.fields[0].table = "embedding/embeddings";
  data::Loader loader(train, {.batch_size = 2, .steps_per_epoch = {}}, whole_parts(train));
  loader.next();
  CHECK(contains(error_of([&] { loader.next(); }),
                 dir.file("t.bin") + ": window from token 4: 9 is not in 0..8, the rows of "
                                     "'embedding/embeddings'"));
}
