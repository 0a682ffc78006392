#include "state/safetensors_header.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <cstring>

#include "base/rng.h"
#include "state/safetensors.h"
#include "support/errors.h"
#include "support/temp_directory.h"

namespace meshwork {
namespace {

std::string parse_error(const std::string& json, std::uint64_t data_bytes) {
  return test::error_of([&] { parse_safetensors_header(json, 8 + json.size(), data_bytes, "w"); });
}

/// One tensor 'a' and what is wrong with it.
std::string entry_error(const std::string& entry, std::uint64_t data_bytes = 8) {
  return parse_error(fmt::format(R"({{"a":{}}})", entry), data_bytes);
}

const std::string kPlace = "3: w: not a good safetensors file: ";

TEST_CASE("a header of another program is read: any dtype, any order, spaces") {
  const std::string json =
      R"( { "b" : {"shape":[2,1],"dtype":"BF16","data_offsets":[4,8]}, )"
      R"("__metadata__":{"format":"pt"}, "a":{"dtype":"F32","shape":[],"data_offsets":[0,4]},)"
      R"("e":{"dtype":"F4","shape":[4],"data_offsets":[8,10]}}   )";
  const SafetensorsHeader header = parse_safetensors_header(json, 1000, 10, "w");
  REQUIRE(header.tensors.size() == 3);
  CHECK(describe(header.tensors[0]) == "float32[]");
  CHECK(describe(header.tensors[1]) == "bfloat16[2, 1]");
  CHECK(header.tensors[1].begin == 1004);
  CHECK(header.tensors[2].end == 1010);
  CHECK(header.metadata == Metadata{{"format", "pt"}});
  CHECK(parse_safetensors_header("{}", 10, 0, "w").tensors.empty());
}

TEST_CASE("every way in which a header can be wrong is named") {
  CHECK(parse_error("", 0) == kPlace + "the header is not JSON, at byte 1 of it");
  CHECK(parse_error(R"({"a":)", 0) == kPlace + "the header is not JSON, at byte 6 of it");
  CHECK(parse_error("{\"\xff\":1}", 0).starts_with(kPlace + "the header is not JSON, at byte"));
  CHECK(parse_error("[]", 0) == kPlace + "the header is not a map");
  CHECK(parse_error("{} {}", 0).starts_with(kPlace + "the header is not JSON, at byte"));
  CHECK(parse_error(R"({"__metadata__":{},"__metadata__":{}})", 0) ==
        kPlace + "the header has the key '__metadata__' twice");
  CHECK(entry_error(R"({"dtype":"F32","dtype":"F32"})") ==
        kPlace + "the header has the key 'dtype' twice");
  CHECK(parse_error(R"({"__metadata__":[]})", 0) == kPlace + "__metadata__ is not a map");
  CHECK(parse_error(R"({"__metadata__":{"epoch":3}})", 0) ==
        kPlace + "__metadata__: 'epoch' is not a string");
  CHECK(entry_error("7") == kPlace + "'a' is not a map");
  CHECK(entry_error(R"({"dtype":"F32","shape":[2]})") == kPlace + "'a' has no key 'data_offsets'");
  CHECK(entry_error(R"({"dtype":"F32","shapes":[2]})") ==
        kPlace + "'a' has the key 'shapes'; nearest: 'shape'");
  CHECK(entry_error(R"({"dtype":32,"shape":[2],"data_offsets":[0,8]})") ==
        kPlace + "'a': dtype is not a string");
  CHECK(entry_error(R"({"dtype":"F99","shape":[2],"data_offsets":[0,8]})") ==
        kPlace + "'a': unknown dtype 'F99'");
}

TEST_CASE("numbers of a header are checked against each other and the file") {
  for (const char* shape : {"2", "[-2]", "[2.0]", "[\"2\"]", "[null]", "{}", "[[2]]"}) {
    CHECK(entry_error(fmt::format(R"({{"dtype":"F32","shape":{},"data_offsets":[0,8]}})", shape)) ==
          kPlace + "'a': shape is not a list of integers from 0 on");
  }
  CHECK(entry_error(R"({"dtype":"F32","shape":[18446744073709551615],"data_offsets":[0,8]})") ==
        kPlace + "'a': shape: 18446744073709551615 is too large");
  CHECK(entry_error(R"({"dtype":"F32","shape":[4294967296,4294967296],"data_offsets":[0,8]})") ==
        kPlace + "'a': shape [4294967296, 4294967296] is too large");
  CHECK(entry_error(R"({"dtype":"F4","shape":[3],"data_offsets":[0,2]})", 2) ==
        kPlace + "'a': 12 bits are no whole number of bytes");
  CHECK(entry_error(R"({"dtype":"F32","shape":[2],"data_offsets":[8,0]})") ==
        kPlace + "'a': data_offsets are [8, 0], not [begin, end]");
  CHECK(entry_error(R"({"dtype":"F32","shape":[2],"data_offsets":[0,4,8]})") ==
        kPlace + "'a': data_offsets are [0, 4, 8], not [begin, end]");
  CHECK(entry_error(R"({"dtype":"F32","shape":[2],"data_offsets":[0,7]})") ==
        kPlace + "'a': data_offsets are [0, 7], but F32[2] has 8 bytes");
  CHECK(entry_error(R"({"dtype":"F32","shape":[2],"data_offsets":[0,8]})", 7) ==
        kPlace + "'a' ends at byte 8 of the data, of which the file has 7");
  CHECK(entry_error(R"({"dtype":"F32","shape":[2],"data_offsets":[0,8]})", 9) ==
        kPlace + "bytes 8 to 9 of the data belong to no tensor");
  CHECK(entry_error(R"({"dtype":"F32","shape":[1],"data_offsets":[4,8]})") ==
        kPlace + "bytes 0 to 4 of the data belong to no tensor");
  CHECK(parse_error(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},)"
                    R"("b":{"dtype":"F32","shape":[2],"data_offsets":[4,12]}})",
                    12) == kPlace + "'b' begins at byte 4 of the data, inside another tensor");
}

TEST_CASE("a file too short for its header") {
  const test::TempDirectory directory;
  const std::string name = directory.file("w");
  const auto open_error = [&](const std::string& bytes) {
    test::write_text(name, bytes);
    return test::error_of([&] { SafetensorsFile file(name); });
  };
  const std::string place = "3: " + name + ": not a good safetensors file: ";
  CHECK(open_error("") == place + "it has 0 bytes, not even the 8 of the length of the header");
  CHECK(open_error(std::string("\x03\0\0\0\0\0\0\0{}", 10)) ==
        place + "a header of 3 bytes in a file of 10");
  CHECK(open_error(std::string(8, '\xff') + "{}") ==
        place + "a header of 18446744073709551615 bytes in a file of 10");
  CHECK(open_error(std::string("\x02\0\0\0\0\0\0\0{}", 10)).empty());
}

TEST_CASE("deep nesting is no trouble") {
  CHECK(parse_error(std::string(100'000, '['), 0)
            .starts_with(kPlace + "the header is nested more than 64 deep"));
  const std::string deep = std::string(100'000, '[') + std::string(100'000, ']');
  CHECK(entry_error(deep) == kPlace + "the header is nested more than 64 deep");
  CHECK(entry_error(std::string(50, '[') + std::string(50, ']')) == kPlace + "'a' is not a map");
}

/// A good file of three tensors.
std::string good_file() {
  const std::vector<GlobalTensor> tensors{{"d1/kernel", DType::kFloat32, {4, 3}},
                                          {"d1/bias", DType::kFloat32, {3}},
                                          {"iteration", DType::kInt64, {}}};
  const SafetensorsPlan plan = plan_safetensors(tensors, {{"format", "meshwork"}}, "w");
  return plan.head + std::string(plan.file_bytes - plan.head.size(), 'd');
}

TEST_CASE("a damaged file is read within its bounds or refused with its name") {
  const test::TempDirectory directory;
  const std::string name = directory.file("w");
  const std::string good = good_file();
  std::uint64_t refused = 0;
  for (std::uint64_t attempt = 0; attempt < 1000; ++attempt) {
    std::string bytes = good;
    auto random = [&, draw = std::uint64_t{0}](std::uint64_t below) mutable {
      return philox(7, attempt, draw++)[0] % below;
    };
    for (std::uint64_t changes = 1 + random(4); changes > 0; --changes) {
      const auto at = static_cast<std::size_t>(random(bytes.size()));
      switch (random(4)) {
        case 0:
          bytes[at] = static_cast<char>(random(256));
          break;
        case 1:
          bytes[at] = "0123456789[]{}\",:-e."[random(20)];
          break;
        case 2:
          bytes.erase(at, 1 + random(8));
          break;
        default:
          bytes.insert(at, bytes.substr(random(bytes.size()), random(16)));
      }
    }
    test::write_text(name, bytes);
    const std::string error = test::error_of([&] {
      const SafetensorsFile file(name);
      for (const StoredTensor& tensor : file.tensors()) {
        CHECK(tensor.begin <= tensor.end);
        CHECK(tensor.end <= bytes.size());
      }
    });
    if (error.empty()) continue;
    ++refused;
    CHECK(error.starts_with("3: " + name + ": "));
  }
  CHECK(refused > 300);
  CHECK(refused < 1000);
}

}  // namespace
}  // namespace meshwork
