#include "state/checkpoint.h"

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <sys/resource.h>

#include <filesystem>
#include <numeric>

#include "state/shards.h"
#include "support/errors.h"
#include "support/temp_directory.h"

namespace meshwork {
namespace {

using test::error_of;
using test::read_text;
using test::Shard;
using test::shard_of;
using test::TempDirectory;
using test::write_text;

/// A tensor larger than a block with a checksum, a small one, an empty one, a scalar.
const std::vector<GlobalTensor> kTensors{{"a/kernel", DType::kFloat32, {700, 901}},
                                         {"b", DType::kFloat32, {3, 2, 5}},
                                         {"empty", DType::kFloat32, {0, 4}},
                                         {"scalar", DType::kFloat32, {}}};

std::vector<float> values_of(std::size_t tensor) {
  std::vector<float> values(static_cast<std::size_t>(num_elements(kTensors[tensor].shape)));
  std::iota(values.begin(), values.end(), 0.5F + 1000.0F * static_cast<float>(tensor));
  return values;
}

/// How many blocks each dimension of each tensor is cut into.
using Cuts = std::vector<Shape>;

std::int64_t count(const Shape& parts) { return num_elements(parts); }

/// Writes a checkpoint of `devices`, of which each holds the block of its number, as often as
/// there are blocks.
void write(const std::string& directory, const Cuts& cuts, std::int64_t devices) {
  std::filesystem::create_directories(directory);
  CheckpointIndex index{
      stored_tensors(kTensors), {}, {{"by", "a test"}}, R"({"steps":3})", "seed: 1\n"};
  PartCopies copies;
  for (std::int64_t device = 0; device < devices; ++device) {
    std::vector<TensorPart> parts;
    std::vector<std::vector<float>> data(kTensors.size());
    for (std::size_t i = 0; i < kTensors.size(); ++i) {
      const Shard shard = shard_of(kTensors[i].shape, cuts[i], device % count(cuts[i]));
      data[i] = test::cut(values_of(i), shard);
      parts.push_back(test::part_of(i, shard, data[i], device < count(cuts[i])));
    }
    const auto slices = write_slices(directory, fmt::format("part-{}.safetensors", device),
                                     index.tensors, copies.copy(kTensors, parts));
    index.slices.insert(index.slices.end(), slices.begin(), slices.end());
  }
  write_index(directory, index);
}

std::vector<float> read(const Checkpoint& checkpoint, std::size_t tensor, const Shard& shard) {
  std::vector<float> values(static_cast<std::size_t>(num_elements(shard.shape)), -1);
  checkpoint.read(kTensors[tensor], shard.region, shard.shape,
                  reinterpret_cast<std::byte*>(values.data()));
  return values;
}

const Cuts kWhole{{1, 1}, {1, 1, 1}, {1, 1}, {}};
const Cuts kRows{{4, 1}, {3, 1, 1}, {1, 4}, {}};
const Cuts kColumns{{1, 4}, {1, 2, 2}, {1, 1}, {}};
const Cuts kBoth{{2, 3}, {1, 1, 5}, {1, 2}, {}};

TEST_CASE("what was cut in one way is read in any other") {
  const TempDirectory directory;
  const std::vector<Cuts> all{kWhole, kRows, kColumns, kBoth};
  for (std::size_t w = 0; w < all.size(); ++w) {
    const std::string path = directory.file(std::to_string(w));
    write(path, all[w], 6);
    const Checkpoint checkpoint(path);
    checkpoint.check_tensors(kTensors);
    checkpoint.verify();
    CHECK(checkpoint.index().metadata.at("by") == "a test");
    CHECK(checkpoint.index().state == R"({"steps":3})");
    CHECK(checkpoint.index().config == "seed: 1\n");
    for (const Cuts& cuts : all) {
      for (std::size_t i = 0; i < kTensors.size(); ++i) {
        const std::vector<float> whole = values_of(i);
        for (std::int64_t block = 0; block < count(cuts[i]); ++block) {
          const Shard shard = shard_of(kTensors[i].shape, cuts[i], block);
          CHECK(read(checkpoint, i, shard) == test::cut(whole, shard));
        }
      }
    }
  }
}

TEST_CASE("a part is read from the blocks that it needs, and a damaged one is found") {
  const TempDirectory directory;
  const std::string path = directory.file("c"), file = path + "/part-0.safetensors";
  write(path, kWhole, 1);
  std::string bytes = read_text(file);
  const std::size_t at = bytes.size() - 8;  // in the last block of the largest tensor, or behind it
  const std::size_t first = bytes.size() - 700 * 901 * 4 + 5;
  bytes[first] = static_cast<char>(bytes[first] ^ 1);
  write_text(file, bytes);
  const Checkpoint checkpoint(path);
  const Shard rows = shard_of(kTensors[0].shape, {7, 1}, 6);
  CHECK(read(checkpoint, 0, rows) == test::cut(values_of(0), rows));
  const std::string damaged = error_of([&] {
    read(checkpoint, 0, shard_of({700, 901}, {7, 1}, 0));
  });
  CHECK(damaged.starts_with("3: " + file + ": damaged: bytes "));
  CHECK(damaged.find("'a/kernel', have another checksum") != std::string::npos);
  CHECK(error_of([&] { checkpoint.verify(); }) == damaged);

  write_text(file, bytes.substr(0, at));
  CHECK(error_of([&] { Checkpoint(path).verify(); }).find(file) != std::string::npos);
  std::filesystem::remove(file);
  CHECK(error_of([&] { Checkpoint(path).verify(); }) ==
        "3: " + file + ": cannot open: No such file or directory; remove " + path +
            ", and --resume takes the checkpoint before it");
}

TEST_CASE(
    "files are open while they are read, and one that the system does not open is not damaged") {
  const auto open_files = [] {
    return std::distance(std::filesystem::directory_iterator("/proc/self/fd"), {});
  };
  const TempDirectory directory;
  const std::string path = directory.file("c");
  write(path, kRows, 6);
  const Checkpoint checkpoint(path);
  const auto before = open_files();
  checkpoint.verify();
  CHECK(open_files() == before);

  rlimit limit{};
  REQUIRE(getrlimit(RLIMIT_NOFILE, &limit) == 0);
  const rlimit none{0, limit.rlim_max};
  REQUIRE(setrlimit(RLIMIT_NOFILE, &none) == 0);
  const std::string refused = error_of([&] { checkpoint.verify(); });
  REQUIRE(setrlimit(RLIMIT_NOFILE, &limit) == 0);
  CHECK(refused == "3: " + path + "/part-0.safetensors: cannot open: Too many open files");
}

TEST_CASE("a directory without an index is no checkpoint") {
  const TempDirectory directory;
  const std::string path = directory.file("step-3");
  std::filesystem::create_directory(path);
  CHECK_FALSE(is_checkpoint(path));
  CHECK(error_of([&] { Checkpoint checkpoint(path); }) ==
        "3: " + path + ": no checkpoint: there is no index.json in it");
}

TEST_CASE("an index that is damaged is refused") {
  const TempDirectory directory;
  const std::string path = directory.file("c"), file = path + "/index.json";
  write(path, kRows, 4);
  const std::string good = read_text(file);
  const auto complaint = [&](const std::string& text) {
    write_text(file, text);
    const std::string error = error_of([&] { Checkpoint checkpoint(path); });
    const std::string start = "3: " + file + ": not a good index of a checkpoint: ";
    const std::string end = "; remove " + path + ", and --resume takes the checkpoint before it";
    REQUIRE(error.starts_with(start));
    REQUIRE(error.ends_with(end));
    return error.substr(start.size(), error.size() - start.size() - end.size());
  };
  const auto changed = [&](const std::string& from, const std::string& to) {
    REQUIRE(good.find(from) != std::string::npos);
    return complaint(std::string(good).replace(good.find(from), from.size(), to));
  };
  CHECK(complaint("") == "it is not JSON, at byte 1");
  CHECK(complaint(good.substr(0, good.size() / 2)).starts_with("it is not JSON, at byte "));
  CHECK(complaint("[]").find("cannot use at() with array") != std::string::npos);
  CHECK(changed("meshwork checkpoint", "another") == "its format is not 'meshwork checkpoint'");
  for (const std::string version : {"0", "1.5", "\"2\""}) {
    CHECK(changed("\"version\":1", "\"version\":" + version) ==
          "version " + version + " is not the 1 that this meshwork reads");
  }
  CHECK(changed("[700,901]", "[4611686018427387904,901]").find("has the shape") !=
        std::string::npos);
  CHECK(changed("[700,901]", "[700,902]") ==
        "the slices of 'a/kernel' have 630700 elements, the tensor 631400");
  CHECK(changed("\"F32\"", "\"F33\"").find("has the type 'F33'") != std::string::npos);
  CHECK(changed("part-0.saf", "../p-0.saf") ==
        "'../p-0.safetensors' is no name of a file in the directory");
  CHECK(changed("\"begin\":[175,0]", "\"begin\":[174,0]") == "two slices of 'a/kernel' overlap");
  CHECK(changed("\"begin\":[525,0]", "\"begin\":[526,0]").starts_with("a slice of 'a/kernel' is"));
  CHECK(changed("\"begin\":[525,0]", "\"begin\":[525]").starts_with("a slice of 'a/kernel' is"));
  CHECK(changed("\"tensor\":0", "\"tensor\":9") == "a slice of tensor 9 of 4");
  CHECK(changed("\"xxh3\":[\"", "\"xxh3\":[\"z").find("is no checksum") != std::string::npos);
  CHECK(changed("\"xxh3\":[\"", "\"xxh3\":[\"0\",\"").find("checksums") != std::string::npos);
  CHECK(changed("\"state\"", "\"stale\"") == "key 'state' not found");
  for (const auto& [from, to] : {std::pair("{\"steps\":3}", "{\"steps\":2}"),
                                 std::pair("seed: 1", "seed: 9"), std::pair("a test", "a text")}) {
    CHECK(changed(from, to) ==
          "it has another checksum than when it was written: damaged, or edited");
  }
}

TEST_CASE("an index of a later version is not called damaged") {
  const TempDirectory directory;
  const std::string path = directory.file("c"), file = path + "/index.json";
  write(path, kRows, 4);
  const std::string version = "\"version\":1";
  std::string text = read_text(file);
  write_text(file, text.replace(text.find(version), version.size(), "\"version\":2"));
  CHECK(error_of([&] { Checkpoint checkpoint(path); }) ==
        "3: " + file +
            ": a newer version of Meshwork has written this checkpoint, in version 2 of the "
            "format, and this one reads version 1; install that version");
}

TEST_CASE("tensors that do not fit are named") {
  const TempDirectory directory;
  write(directory.file("c"), kWhole, 1);
  const Checkpoint checkpoint(directory.file("c"));
  std::vector<GlobalTensor> other = kTensors;
  other[1].path = "bb";
  CHECK(error_of([&] { checkpoint.check_tensors(other, true); }) ==
        "3: " + directory.file("c") +
            ": no tensor 'bb', float32[3, 2, 5] in the model; nearest: 'b'; " +
            test::kMisfitWayOut);
  other[1] = {"b", DType::kFloat32, {3, 2, 6}};
  CHECK(error_of([&] { checkpoint.check_tensors(other, true); }) ==
        "3: " + directory.file("c") +
            ": 'b' is float32[3, 2, 5] in the file, float32[3, 2, 6] in the model; " +
            test::kMisfitWayOut);
}

TEST_CASE("checkpoints have names in the order of time, and none that is taken") {
  const TempDirectory directory;
  const auto add = [&](std::int64_t steps, bool is_whole = true) {
    const std::string path = new_checkpoint(directory.path(), steps);
    std::filesystem::create_directory(path);
    if (is_whole) write_text(path + "/index.json", "{}");
    return std::filesystem::path(path).filename().string();
  };
  CHECK(list_checkpoints(directory.file("none")).empty());
  CHECK(add(900) == "step-900");
  CHECK(add(1000) == "step-1000");
  CHECK(add(1000) == "step-1000-2");
  CHECK(add(1000) == "step-1000-3");
  CHECK(add(2000, false) == "step-2000");
  std::filesystem::create_directory(directory.file("step-3000x"));
  for (const char* other : {"step-+5", "step- 5", "step-5-+2", "step--5", "step-"}) {
    std::filesystem::create_directory(directory.file(other));
    write_text(directory.file(other) + "/index.json", "{}");
  }
  const std::vector<std::string> whole{directory.file("step-900"), directory.file("step-1000"),
                                       directory.file("step-1000-2"),
                                       directory.file("step-1000-3")};
  CHECK(list_checkpoints(directory.path()) == whole);
  remove_unfinished(directory.path());
  CHECK_FALSE(std::filesystem::exists(directory.file("step-2000")));
  CHECK(std::filesystem::exists(directory.file("step-3000x")));
  remove_checkpoint(directory.file("step-1000-2"));
  CHECK_FALSE(std::filesystem::exists(directory.file("step-1000-2")));
  CHECK(list_checkpoints(directory.path()).size() == 3);
  remove_checkpoint(directory.file("step-1000"));
  CHECK(add(1000) == "step-1000-4");
}

}  // namespace
}  // namespace meshwork
