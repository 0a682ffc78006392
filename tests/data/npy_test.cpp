#include <doctest/doctest.h>

#include "data/files.h"

using namespace meshwork;
using namespace meshwork::test;

namespace {

constexpr const char* kNpy = "{format: npy, splits: {train: {x: x.npy}}}";
constexpr const char* kNpz =
    "{format: npz, splits: {train: {x: {file: d.npz, array: x_train}, y: d.npz}}}";

std::string failure(const TempDir& dir, const char* description = kNpy) {
  return error_of([&] {
    const data::Dataset opened = dataset(dir, description);
    floats(opened.split("train"), "x");
  });
}

const std::string kSix = bytes_of(std::vector<float>{1, 2, 3, 4, 5, 6});

}  // namespace

TEST_CASE("npy of every version, byte order and type") {
  const TempDir dir;
  const std::vector<float> values{1, 2, 3, 4, 5, 6};
  for (const int version : {1, 2, 3}) {
    dir.write("x.npy", npy(npy_dict("<f4", "(3, 2)"), kSix, version));
    const data::Dataset opened = dataset(dir, kNpy);
    CHECK(opened.split("train").find("x")->shape == Shape{2});
    CHECK(floats(opened.split("train"), "x") == values);
  }
  const auto read = [&](const std::string& file) {
    dir.write("x.npy", file);
    return floats(dataset(dir, kNpy).split("train"), "x");
  };
  CHECK(read(npy(npy_dict(">f8", "(2,)"), bytes_of(std::vector<double>{0.5, -4}, true))) ==
        std::vector{0.5F, -4.F});
  CHECK(read(npy(npy_dict("<i8", "(2L, 1L)"), bytes_of(std::vector<std::int64_t>{9, -9}))) ==
        std::vector{9.F, -9.F});
  CHECK(read(npy(npy_dict("|b1", "(2,)"), std::string("\0\1", 2))) == std::vector{0.F, 1.F});
  CHECK(read(npy(npy_dict("|u1", "(1, 1, 1, 1)"), "\xFE")) == std::vector{254.F});
  CHECK(read(gzip(npy(npy_dict("<f4", "(6,)"), kSix))) == values);
  CHECK(read(npy("{\"shape\":(2,),\"fortran_order\":True,\"descr\":\"|i1\"}", "\1\2")) ==
        std::vector{1.F, 2.F});
}

TEST_CASE("broken npy files are errors") {
  const TempDir dir;
  const std::string path = dir.write("x.npy", "");
  const auto with = [&](const std::string& file) {
    dir.write("x.npy", file);
    return failure(dir);
  };
  CHECK(contains(with(""), path + ": not a .npy file"));
  CHECK(contains(with("\x93NUMPY"), ".npy version 0.0; known: 1.0, 2.0, 3.0"));
  const std::string good = npy(npy_dict("<f4", "(3, 2)"), kSix);
  CHECK(with(good).empty());
  CHECK(contains(with(good.substr(0, 40)), "cut off in the .npy header of"));
  CHECK(contains(with(good.substr(0, good.size() - 4)), "but shape [3, 2] of float32 needs"));
  CHECK(contains(with(good + good), "has something else appended"));
  CHECK(contains(with(npy("{'descr': '<f4', 'fortran_order': True, 'shape': (3, 2)}", kSix)),
                 "shape [3, 2] is stored in Fortran order, which is not read; save "
                 "numpy.ascontiguousarray"));
  CHECK(contains(with(npy(npy_dict("<c8", "(3,)"), kSix)), "dtype '<c8' holds no real numbers"));
  CHECK(contains(with(npy(npy_dict("|O", "(3,)"), kSix)), "dtype '|O' holds no real numbers"));
  CHECK(contains(with(npy("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (3,)}", "")),
                 "a structured dtype"));
  CHECK(contains(with(npy(npy_dict("<f4", "()"), "1234")), "a single number, not an array"));
  CHECK(contains(with(npy(npy_dict("<f4", "(-1, 2)"), kSix)), "negative dimension"));
  CHECK(contains(with(npy(npy_dict("<f4", "(4611686018427387904, 4)"), kSix)), "more than any"));
  CHECK(contains(with(npy(npy_dict("<f4", "(99999999999999999999,)"), kSix)), "cannot read"));
  for (const char* dict : {"", "{", "{'descr'", "{'descr': '<f4'}", "{'a': 1}", "[]",
                           "{'descr': '<f4', 'fortran_order': 0, 'shape': (6,)}",
                           "{'descr': '<f4', 'fortran_order': False, 'shape': (6 6)}",
                           "{'descr': '<f4', 'fortran_order': False, 'shape': (6,)} x"}) {
    CHECK(contains(with(npy(dict, kSix)), "cannot read the .npy header"));
  }
}

TEST_CASE("npz arrays, stored and deflated") {
  for (const bool deflate : {false, true}) {
    const TempDir dir;
    write_zip(dir.file("d.npz"),
              {{"x_train.npy", npy(npy_dict("<f4", "(2, 3)"), kSix)},
               {"y.npy", npy(npy_dict("|u1", "(2,)"), "\3\4")}},
              deflate);
    const data::Dataset opened = dataset(dir, kNpz);
    CHECK(opened.split("train").find("x")->shape == Shape{3});
    CHECK(floats(opened.split("train"), "x") == std::vector<float>{1, 2, 3, 4, 5, 6});
    CHECK(ints(opened.split("train"), "y") == std::vector<std::int32_t>{3, 4});
  }
}

TEST_CASE("broken npz files are errors") {
  const TempDir dir;
  const std::string three = npy(npy_dict("|u1", "(2,)"), "\3\4");
  write_zip(dir.file("w.npz"), {{"x.npy", three}, {"y.npy", three}, {"sample_weight.npy", three}},
            false);
  const char* of_all = "{format: npz, splits: {train: w.npz}}";
  CHECK(contains(error_of([&] { dataset(dir, of_all).split("train"); }, ExitCode::kConfiguration),
                 "w.npz: it holds 'sample_weight', which nobody reads"));
  const char* device = "{format: npz, splits: {train: {x: /dev/zero}}}";
  CHECK(contains(failure(dir, device), "/dev/zero: not a regular file"));
  dir.write("d.npz", "");
  CHECK(contains(failure(dir, kNpz), "cannot open the .npz archive"));
  dir.write("d.npz", "PK\3\4 rubbish");
  CHECK(contains(failure(dir, kNpz), "cannot open the .npz archive"));
  write_zip(dir.file("d.npz"), {{"x_trian.npy", npy(npy_dict("<f4", "(6,)"), kSix)}}, true);
  CHECK(contains(failure(dir, kNpz), "has no array 'x_train'; nearest: 'x_trian'"));
  write_zip(dir.file("d.npz"), {{"x_train.npy", npy(npy_dict("<f4", "(7,)"), kSix)}}, true);
  CHECK(contains(failure(dir, kNpz), "array 'x_train': "));
  CHECK(contains(failure(dir, kNpz), "but shape [7] of float32 needs"));
  const std::string payload(5000, 'a');
  write_zip(dir.file("d.npz"),
            {{"x_train.npy", npy(npy_dict("|u1", "(5000,)"), payload)},
             {"y.npy", npy(npy_dict("|u1", "(5000,)"), payload)}},
            false);
  std::string bytes = read_file(dir.file("d.npz"));
  bytes[2000] = 'b';
  dir.write("d.npz", bytes);
  CHECK(contains(failure(dir, kNpz), "CRC error; fetch the file again"));
}
