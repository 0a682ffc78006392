#include <doctest/doctest.h>

#include "base/rng.h"
#include "data/files.h"

using namespace meshwork;
using namespace meshwork::test;

namespace {

struct Case {
  const char* name;
  std::string bytes;
  const char* description;
};

std::string zip_bytes(const TempDir& dir, bool deflate) {
  write_zip(dir.file("seed.npz"),
            {{"x.npy", npy(npy_dict("<i2", "(5, 2)"), std::string("01234567890123456789", 20))},
             {"other.npy", npy(npy_dict("<f8", "(1,)"), std::string(8, '\0'))}},
            deflate);
  return read_file(dir.file("seed.npz"));
}

std::vector<Case> cases(const TempDir& dir) {
  const std::string idx_file = idx(0x0B, {5, 2}, "01234567890123456789");
  const std::string npy_file = npy(npy_dict("<f4", "(5, 1)"), "01234567890123456789", 2);
  const std::string csv_file = "a,\"b \"\"x\"\"\"\r\n1,2\n-3.5e1,\"4\"\n";
  constexpr const char* kIdx = "{format: idx, splits: {train: {x: f}}}";
  constexpr const char* kNpy = "{format: npy, splits: {train: {x: f}}}";
  constexpr const char* kNpz = "{format: npz, splits: {train: {x: f}}}";
  constexpr const char* kRows = "{format: npz, cache: false, splits: {train: {x: f}}}";
  constexpr const char* kCifar = "{format: cifar10, splits: {train: {x: f}}}";
  constexpr const char* kCsv = "{format: csv, splits: {train: {x: f}}}";
  return {{"idx", idx_file, kIdx},
          {"idx.gz", gzip(idx_file), kIdx},
          {"npy", npy_file, kNpy},
          {"npy.gz", gzip(npy_file), kNpy},
          {"npz stored", zip_bytes(dir, false), kNpz},
          {"npz deflated", zip_bytes(dir, true), kNpz},
          {"npz stored, by rows", zip_bytes(dir, false), kRows},
          {"npz deflated, not kept", zip_bytes(dir, true), kRows},
          {"cifar.gz", gzip(std::string(2 * 3073, 'a')), kCifar},
          {"csv", csv_file, kCsv},
          {"csv.gz", gzip(csv_file), kCsv}};
}

/// Reads all; whether it worked. Anything but an Error with kFile ends the test.
bool reads(const TempDir& dir, const Case& tested, const std::string& bytes) {
  dir.write("f", bytes);
  try {
    const data::Dataset opened = dataset(dir, tested.description);
    floats(opened.split("train"), "x");
    return true;
  } catch (const Error& error) {
    CHECK(error.code() == ExitCode::kFile);
    CHECK(std::string(error.what()).size() > 10);
    return false;
  }
}

}  // namespace

TEST_CASE("damaged files are read or refused, and never more than that") {
  const TempDir dir;
  for (const Case& tested : cases(dir)) {
    CAPTURE(tested.name);
    CHECK(reads(dir, tested, tested.bytes));
    const std::size_t size = tested.bytes.size();
    const bool is_csv = std::string(tested.name) == "csv";  // a shorter table is a table
    for (std::size_t length = 0; length < size; ++length) {
      const bool whole = reads(dir, tested, tested.bytes.substr(0, length));
      if (!is_csv) CHECK_FALSE(whole);
    }
    for (std::uint64_t trial = 0; trial < 300; ++trial) {
      const auto bits = philox(42, trial, 0);
      std::string damaged = tested.bytes;
      damaged[bits[0] % size] = static_cast<char>(bits[1]);
      if (bits[2] % 2 == 0) damaged[bits[3] % size] ^= static_cast<char>(1U << (bits[2] >> 29U));
      reads(dir, tested, damaged);
    }
    std::string noise;
    for (std::uint64_t i = 0; i < 300; ++i) noise += static_cast<char>(philox(7, i, 0)[0]);
    CHECK_FALSE(reads(dir, tested, noise));
  }
}
