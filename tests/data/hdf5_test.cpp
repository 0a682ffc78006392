// format: hdf5
#include <doctest/doctest.h>

#include <ctime>
#include <numeric>
#include <thread>

#include "data/files.h"
#include "data/formats/hdf5_chunks.h"
#include "data/formats/hdf5_library.h"
#include "data/packed_advice.h"

using namespace meshwork;
using namespace meshwork::test;

namespace {

using Floats = std::vector<float>;
namespace hdf5 = data::hdf5;

/// A dataset of a new file, or of one that is there, of numbers that count from 0.
struct Content {
  std::string dataset = "x";
  Shape shape = {6, 2, 3};
  hid_t type = H5T_NATIVE_FLOAT;
  std::vector<hsize_t> chunk = {};  ///< empty: stored as it is; else packed
  bool is_new_file = true;
};

std::string write_hdf5(const TempDir& dir, const std::string& name, const Content& content) {
  const hdf5::Library library;
  const std::string path = dir.file(name);
  const hdf5::File file(content.is_new_file
                            ? H5Fcreate(path.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT)
                            : H5Fopen(path.c_str(), H5F_ACC_RDWR, H5P_DEFAULT));
  const hdf5::Properties links(H5Pcreate(H5P_LINK_CREATE)), how(H5Pcreate(H5P_DATASET_CREATE));
  H5Pset_create_intermediate_group(links, 1);
  if (!content.chunk.empty()) {
    H5Pset_chunk(how, static_cast<int>(content.chunk.size()), content.chunk.data());
    H5Pset_deflate(how, 1);
  }
  const hdf5::Dataset made(H5Dcreate2(file, content.dataset.c_str(), content.type,
                                      hdf5::space_of(content.shape), links, how, H5P_DEFAULT));
  REQUIRE(made.is_open());
  std::vector<double> numbers(static_cast<std::size_t>(num_elements(content.shape)));
  std::iota(numbers.begin(), numbers.end(), 0.0);
  if (H5Tget_class(content.type) == H5T_STRING) return path;
  REQUIRE(H5Dwrite(made, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, numbers.data()) >= 0);
  return path;
}

data::Dataset open(const TempDir& dir, const std::string& x = "x.h5",
                   const std::string& keys = "") {
  return dataset(dir, "{format: hdf5, splits: {train: {x: " + x + "}}" + keys + "}");
}

Floats counted(std::int64_t first, std::int64_t count) {
  Floats numbers(static_cast<std::size_t>(count));
  std::iota(numbers.begin(), numbers.end(), static_cast<float>(first));
  return numbers;
}

std::string failure(const TempDir& dir, const std::string& x) {
  return error_of([&] { open(dir, x).describe(); });
}

}  // namespace

TEST_CASE("datasets of HDF5 are read whole and in parts, packed or not, kept or not") {
  const TempDir dir;
  for (const std::vector<hsize_t>& chunk : std::vector<std::vector<hsize_t>>{{}, {4, 2, 2}}) {
    write_hdf5(dir, "x.h5", {.chunk = chunk});
    for (const char* cache : {"", ", cache: false"}) {
      CAPTURE(cache);
      const data::Dataset opened = open(dir, "x.h5", cache);
      CHECK(opened.describe() == "train: 6 samples, x float32 [2, 3]\n");
      CHECK(floats(opened.split("train"), "x") == counted(0, 36));
      const data::Source& source = *opened.split("train").find("x")->source;
      CHECK(source.is_resident() == (*cache == '\0'));
      CHECK(source.kept_bytes() == (*cache == '\0' ? 144 : 0));
      for (std::int64_t begin = 0; begin < 36; ++begin) {
        for (std::int64_t count = 0; begin + count <= 36; ++count) {
          Floats part(static_cast<std::size_t>(count));
          source.read(begin, count, reinterpret_cast<std::byte*>(part.data()));
          REQUIRE(part == counted(begin, count));
        }
      }
    }
  }
}

TEST_CASE("numbers of HDF5 may be of any of our types and byte orders") {
  const TempDir dir;
  const hdf5::Type half = hdf5::native_type(DType::kFloat16);
  for (const auto& [type, name] :
       std::vector<std::pair<hid_t, DType>>{{H5T_STD_U8LE, DType::kUInt8},
                                            {H5T_STD_I16BE, DType::kInt16},
                                            {H5T_STD_U32LE, DType::kUInt32},
                                            {H5T_STD_I64BE, DType::kInt64},
                                            {H5T_IEEE_F64BE, DType::kFloat64},
                                            {half, DType::kFloat16}}) {
    write_hdf5(dir, "x.h5", {.type = type});
    const data::Dataset opened = open(dir);
    CHECK(opened.split("train").find("x")->source->info().dtype == name);
    CHECK(floats(opened.split("train"), "x") == counted(0, 36));
  }
  write_hdf5(dir, "x.h5", {.dataset = "y", .shape = {4}, .type = H5T_STD_I64LE});
  const data::Dataset labels = dataset(dir, "{format: hdf5, splits: {train: {y: x.h5}}}");
  CHECK(ints(labels.split("train"), "y") == std::vector<std::int32_t>{0, 1, 2, 3});
}

TEST_CASE("datasets lie in groups, several in a file, and files may be many") {
  const TempDir dir;
  for (int i = 0; i < 40; ++i) {
    const std::string file = fmt::format("s-{:02}.h5", i);
    write_hdf5(dir, file, {.dataset = "all/images", .shape = {2, 3}});
    write_hdf5(dir, file, {.dataset = "all/targets", .shape = {2}, .is_new_file = false});
  }
  const data::Dataset opened = dataset(
      dir,
      "{format: hdf5, files: {x: {file: 's-*.h5', dataset: all/images}, y: {file: 's-*.h5', "
      "dataset: all/targets}}, splits: {train: 0.9, test: 0.1}, cache: false}");
  CHECK(opened.describe() ==
        "train: 72 samples, x float32 [3], y float32 []\n"
        "test: 8 samples, x float32 [3], y float32 []\n");
  const Floats y = floats(opened.split("train"), "y");
  CHECK(std::accumulate(y.begin(), y.end(), 0.0F) == 36);
  CHECK(opened.split("train").find("x")->source->place_of(5).name.ends_with(
      "s-02.h5: dataset 'all/images'"));
}

TEST_CASE("weights in a file of all fields are read, or said to be left, or an error") {
  const TempDir dir;
  for (const char* name : {"x", "y", "sample_weight"}) {
    write_hdf5(dir, "t.h5", {.dataset = name, .shape = {4}, .is_new_file = name[0] == 'x'});
  }
  const auto described = [&](const std::string& keys) {
    return dataset(dir, "{format: hdf5, splits: {train: t.h5}" + keys + "}").describe();
  };
  CHECK(
      error_of([&] { described(""); }, ExitCode::kConfiguration)
          .ends_with("t.h5: it holds 'sample_weight', which nobody reads: give the dataset the "
                     "key sample_weight: {}, and they weight the samples, or sample_weight: null, "
                     "and they do not"));
  const std::string both = "train: 4 samples, x float32 [], y float32 []";
  CHECK(described(", sample_weight: {}") == both + ", sample_weight float32 []\n");
  CHECK(described(", sample_weight: null") == both + "\n");
  CHECK(dataset(dir, "{format: hdf5, splits: {train: {x: t.h5, y: t.h5}}}").describe() ==
        both + "\n");
}

TEST_CASE("several threads read a file of HDF5") {
  const TempDir dir;
  write_hdf5(dir, "x.h5", {.shape = {50, 7}, .chunk = {3, 7}});
  const data::Dataset opened = open(dir, "x.h5", ", cache: false");
  const data::Source& source = *opened.split("train").find("x")->source;
  std::vector<Floats> read(4, Floats(350));
  std::vector<std::thread> threads;
  for (Floats& numbers : read) {
    threads.emplace_back([&] {
      for (std::int64_t i = 0; i < 50; ++i) {
        source.read(7 * i, 7,
                    reinterpret_cast<std::byte*>(&numbers[static_cast<std::size_t>(7 * i)]));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const Floats& numbers : read) CHECK(numbers == counted(0, 350));
}

TEST_CASE("reading takes as long as the data are large, not as chunks are many or large") {
  const TempDir dir;
  const auto seconds = [](const std::function<void()>& work) {
    const std::clock_t begin = std::clock();
    work();
    return static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
  };
  constexpr double kFarTooLong = 4;  // a tenth of it is enough
  write_hdf5(dir, "many.h5", {.shape = {40000, 1}, .chunk = {1, 1}});
  CHECK(seconds([&] { floats(open(dir, "{file: many.h5}").split("train"), "x"); }) < kFarTooLong);

  write_hdf5(dir, "large.h5", {.shape = {2048, 2048}, .chunk = {2048, 2048}});
  const data::Dataset opened = open(dir, "{file: large.h5}", ", cache: false");
  const data::Source& source = *opened.split("train").find("x")->source;
  Floats sample(2048);
  const double taken = seconds([&] {
    for (std::int64_t i = 0; i < 2048; ++i) {
      source.read(2048 * i, 2048, reinterpret_cast<std::byte*>(sample.data()));
    }
  });
  CHECK(sample == counted(2047 * 2048, 2048));
  CHECK(taken < kFarTooLong);
}

TEST_CASE("samples that share packed chunks are read chunk by chunk, and a note says so") {
  const TempDir dir;
  const auto advice = [&](const std::vector<hsize_t>& chunk, const std::string& keys) {
    write_hdf5(dir, "x.h5", {.chunk = chunk});
    const auto notes = data::packed_advice(open(dir, "x.h5", keys).split("train"));
    return notes.empty() ? "" : notes.front();
  };
  CHECK(contains(advice({2, 2, 3}, ", cache: false"),
                 "x.h5: dataset 'x': 'x' takes 144.00 B unpacked, of which 0.00 B are kept: each "
                 "shuffled batch unpacks the chunks of its samples again"));
  CHECK(advice({1, 2, 3}, ", cache: false").empty());
  CHECK(advice({2, 2, 3}, "").empty());
  CHECK(advice({}, ", cache: false").empty());
}

TEST_CASE("the library keeps the chunks of some samples, if these are packed and not too large") {
  constexpr std::int64_t kMiB = 1 << 20;
  const auto cache = [](bool is_packed, std::int64_t chunk, std::int64_t sample) {
    return hdf5::cache_for(
        {.chunk = {1}, .is_packed = is_packed, .chunk_bytes = chunk, .sample_bytes = sample});
  };
  CHECK(cache(false, 4 * kMiB, 8 * kMiB) == 0);
  CHECK(cache(true, kMiB / 8, kMiB / 4) == 0);
  CHECK(cache(true, 4 * kMiB, 8 * kMiB) == 32 * kMiB);
  CHECK(cache(true, kMiB, 1000 * kMiB) == hdf5::kMostCached);
  CHECK(cache(true, 500 * kMiB, 1000 * kMiB) == 500 * kMiB);
}

TEST_CASE("what is no dataset of numbers is refused, and so is a damaged file") {
  const TempDir dir;
  const std::string path = write_hdf5(dir, "x.h5", {.dataset = "g/images", .chunk = {2, 2, 3}});
  CHECK(failure(dir, "x.h5") == path + ": has no dataset 'x'; known: 'g'");
  CHECK(failure(dir, "{file: x.h5, dataset: g/image}") ==
        path + ": has no dataset 'g/image'; nearest: 'g/images'");
  CHECK(failure(dir, "{file: x.h5, dataset: g}") ==
        path + ": 'g' is a group, not a dataset; known: 'g/images'");
  write_hdf5(dir, "t.h5", {.shape = {3}, .type = H5T_C_S1});
  CHECK(contains(failure(dir, "t.h5"),
                 "t.h5: dataset 'x': holds texts, not numbers; store the number"));
  write_hdf5(dir, "s.h5", {.shape = {}});
  CHECK(contains(failure(dir, "s.h5"), "dataset 'x': a single number, not an array of samples"));
  dir.write("n.h5", "no HDF5");
  CHECK(
      contains(failure(dir, "n.h5"), "n.h5: not a good HDF5 file; is it cut off? write it again"));

  const std::string whole = read_file(path);
  for (std::size_t size = 0; size < whole.size(); size += 97) {
    dir.write("cut.h5", whole.substr(0, size));
    CHECK(contains(failure(dir, "{file: cut.h5, dataset: g/images}"), "cut.h5"));
  }
}

TEST_CASE("a dataset that nobody wrote, or that lies in another file, is refused") {
  const TempDir dir;
  {
    const hdf5::Library library;
    const hdf5::File file(
        H5Fcreate(dir.file("x.h5").c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT));
    const hdf5::Space space = hdf5::space_of({4});
    const hdf5::Dataset x(
        H5Dcreate2(file, "x", H5T_NATIVE_FLOAT, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
    const hdf5::Properties how(H5Pcreate(H5P_DATASET_CREATE));
    H5Pset_external(how, dir.file("raw").c_str(), 0, 16);
    const hdf5::Dataset y(
        H5Dcreate2(file, "y", H5T_NATIVE_FLOAT, space, H5P_DEFAULT, how, H5P_DEFAULT));
  }
  CHECK(contains(failure(dir, "x.h5"), "dataset 'x': 0 bytes of 16 are stored"));
  CHECK(contains(failure(dir, "{file: x.h5, dataset: y}"), "'y' lies in another file"));

  {
    const hdf5::Library library;
    const hdf5::File file(H5Fopen(dir.file("x.h5").c_str(), H5F_ACC_RDWR, H5P_DEFAULT));
    const hdf5::Properties how(H5Pcreate(H5P_DATASET_CREATE));
    const hsize_t chunk = 2, begin = 0;
    H5Pset_chunk(how, 1, &chunk);
    const hdf5::Space all = hdf5::space_of({4}), some = hdf5::space_of({2});
    const hdf5::Dataset z(
        H5Dcreate2(file, "z", H5T_NATIVE_FLOAT, all, H5P_DEFAULT, how, H5P_DEFAULT));
    H5Sselect_hyperslab(all, H5S_SELECT_SET, &begin, nullptr, &chunk, nullptr);
    const Floats numbers{1, 2};
    REQUIRE(H5Dwrite(z, H5T_NATIVE_FLOAT, some, all, H5P_DEFAULT, numbers.data()) >= 0);
  }
  {
    const hdf5::Library library;
    const hdf5::File file(H5Fopen(dir.file("x.h5").c_str(), H5F_ACC_RDWR, H5P_DEFAULT));
    H5Lcreate_soft("/nothing", file, "soft", H5P_DEFAULT, H5P_DEFAULT);
    write_hdf5(dir, "other.h5", {});
    H5Lcreate_external("other.h5", "/x", file, "link", H5P_DEFAULT, H5P_DEFAULT);
    const hdf5::Properties how(H5Pcreate(H5P_DATASET_CREATE));
    const hsize_t chunk = 4;
    H5Pset_chunk(how, 1, &chunk);
    H5Pset_filter(how, 32000, H5Z_FLAG_OPTIONAL, 0, nullptr);  // lzf
    const hdf5::Space space = hdf5::space_of({4});
    const hdf5::Dataset packed(
        H5Dcreate2(file, "packed", H5T_NATIVE_FLOAT, space, H5P_DEFAULT, how, H5P_DEFAULT));
  }
  CHECK(contains(failure(dir, "{file: x.h5, dataset: soft}"),
                 "x.h5: dataset 'soft' cannot be opened: a link to nothing, or written in a way"));
  CHECK(contains(failure(dir, "{file: x.h5, dataset: link}"),
                 "x.h5: 'link' lies in another file; name that one"));
  CHECK(contains(failure(dir, "{file: x.h5, dataset: packed}"),
                 "(filter 32000), which cannot be unpacked here; pack it with gzip"));
  for (const char* cache : {"", ", cache: false"}) {
    const data::Dataset opened = open(dir, "{file: x.h5, dataset: z}", cache);
    CHECK(contains(error_of([&] { floats(opened.split("train"), "x"); }),
                   "x.h5: dataset 'z': nothing was written at [2]; write the rest of it"));
  }
}
