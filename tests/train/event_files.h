#pragma once

#include <doctest/doctest.h>

#include <cstdint>
#include <cstring>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "support/temp_directory.h"
#include "train/event_file.h"

/// Files for TensorBoard, read back by the rules of their format.
namespace meshwork::testing::events {

template <class T>
inline T number_at(const std::string& text, std::size_t at) {
  T value;
  REQUIRE(at + sizeof value <= text.size());
  std::memcpy(&value, text.data() + at, sizeof value);
  return value;
}

inline std::uint32_t masked_crc(const std::string& data) {
  const std::uint32_t crc = crc32c(data);
  return ((crc >> 15) | (crc << 17)) + 0xa282ead8U;
}

/// The data of all records, whose lengths and checksums must be right.
inline std::vector<std::string> records_in(const std::string& text) {
  std::vector<std::string> records;
  for (std::size_t at = 0; at < text.size();) {
    const auto length = static_cast<std::size_t>(number_at<std::uint64_t>(text, at));
    CHECK(number_at<std::uint32_t>(text, at + 8) == masked_crc(text.substr(at, 8)));
    const std::string data = text.substr(at + 12, length);
    CHECK(number_at<std::uint32_t>(text, at + 12 + length) == masked_crc(data));
    records.push_back(data);
    at += 16 + length;
  }
  return records;
}

struct Fields {
  std::map<int, std::uint64_t> numbers;
  std::map<int, std::string> bytes;
};

inline std::uint64_t read_varint(const std::string& text, std::size_t& at) {
  std::uint64_t value = 0;
  for (int shift = 0;; shift += 7) {
    const auto byte = static_cast<std::uint8_t>(text.at(at++));
    value |= std::uint64_t{byte & 0x7fU} << shift;
    if (byte < 0x80) return value;
  }
}

/// A protocol-buffer message.
inline Fields fields_of(const std::string& text) {
  Fields fields;
  for (std::size_t at = 0; at < text.size();) {
    const std::uint64_t key = read_varint(text, at);
    const int field = static_cast<int>(key >> 3);
    std::size_t bytes = 0;
    switch (key & 7) {
      case 0:
        fields.numbers[field] = read_varint(text, at);
        continue;
      case 1:
        bytes = 8;
        break;
      case 2:
        bytes = read_varint(text, at);
        break;
      case 5:
        bytes = 4;
        break;
      default:
        FAIL("an unknown kind of field");
    }
    fields.bytes[field] = text.substr(at, bytes);
    at += bytes;
  }
  return fields;
}

struct Scalar {
  std::string tag;
  std::uint64_t step;
  float value;
  bool operator==(const Scalar&) const = default;
};

inline std::vector<Scalar> scalars_in(const std::string& path) {
  const std::vector<std::string> records = records_in(test::read_text(path));
  REQUIRE(!records.empty());
  CHECK(fields_of(records[0]).bytes[3] == "brain.Event:2");
  std::vector<Scalar> scalars;
  for (std::size_t i = 1; i < records.size(); ++i) {
    Fields event = fields_of(records[i]);
    CHECK(number_at<double>(event.bytes.at(1), 0) > 1.7e9);
    Fields value = fields_of(fields_of(event.bytes.at(5)).bytes.at(1));
    scalars.push_back(
        {value.bytes.at(1), event.numbers.at(2), number_at<float>(value.bytes.at(2), 0)});
  }
  return scalars;
}

inline std::string only_file_in(const std::string& directory) {
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(directory))
    files.push_back(entry.path());
  REQUIRE(files.size() == 1);
  CHECK(std::filesystem::path(files[0]).filename().string().starts_with("events.out.tfevents."));
  return files[0];
}

}  // namespace meshwork::testing::events
