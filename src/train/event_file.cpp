#include "train/event_file.h"

#include <fmt/format.h>
#include <isa-l/crc.h>
#include <unistd.h>

#include <atomic>
#include <bit>
#include <chrono>
#include <cstring>

#include "base/error.h"
#include "base/host_name.h"

namespace meshwork {
namespace {

static_assert(std::endian::native == std::endian::little, "numbers are stored as they are");

template <class T>
std::string bytes_of(T value) {
  std::string text(sizeof value, '\0');
  std::memcpy(text.data(), &value, sizeof value);
  return text;
}

std::string varint(std::uint64_t value) {
  std::string text;
  for (; value >= 0x80; value >>= 7) text += static_cast<char>((value & 0x7f) | 0x80);
  return text + static_cast<char>(value);
}

/// How the value of a field is coded.
enum class Wire { kVarint = 0, kDouble = 1, kBytes = 2, kFloat = 5 };

std::string key(int field, Wire wire) {
  return varint(static_cast<std::uint64_t>(field) << 3 | static_cast<std::uint64_t>(wire));
}

std::string bytes_field(int field, std::string_view value) {
  return key(field, Wire::kBytes) + varint(value.size()) + std::string(value);
}

double unix_seconds() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration<double>(now).count();
}

/// The fields wall_time and step of Event.
std::string event(std::int64_t step) {
  return key(1, Wire::kDouble) + bytes_of(unix_seconds()) + key(2, Wire::kVarint) +
         varint(static_cast<std::uint64_t>(step));
}

std::string new_name(const std::string& directory, const std::string& id) {
  static std::atomic<int> number{0};
  const std::string name = fmt::format("{}/events.out.tfevents.{:.0f}.{}.{}.{}.{}.v2", directory,
                                       unix_seconds(), host_name(), getpid(), number++, id);
  create_parent_directory(name);
  return name;
}

/// As TensorFlow stores checksums, lest one of data with checksums in it is weak.
std::uint32_t masked(std::uint32_t crc) { return (crc >> 15 | crc << 17) + 0xa282ead8U; }

}  // namespace

std::uint32_t crc32c(std::string_view data) {
  std::string copy(data);  // which it takes as one that may change
  return ~crc32_iscsi(reinterpret_cast<unsigned char*>(copy.data()), static_cast<int>(copy.size()),
                      ~0U);
}

EventFile::EventFile(const std::string& directory, const std::string& id)
    : file_(File::open_to_append(new_name(directory, id))) {
  try {
    begin();
  } catch (const Error&) {
    remove_path(file_.path());
    throw;
  }
}

EventFile::EventFile(const std::string& path, std::uint64_t bytes) : file_(open_at(path, bytes)) {
  if (file_.bytes() == 0) begin();
}

void EventFile::begin() { add_record(event(0) + bytes_field(3, "brain.Event:2")); }

void EventFile::add_scalar(std::string_view tag, std::int64_t step, double value) {
  const std::string scalar =
      bytes_field(1, tag) + key(2, Wire::kFloat) + bytes_of(static_cast<float>(value));
  add_record(event(step) + bytes_field(5, bytes_field(1, scalar)));
}

void EventFile::add_record(const std::string& data) {
  const std::string length = bytes_of<std::uint64_t>(data.size());
  file_.append(length + bytes_of(masked(crc32c(length))) + data + bytes_of(masked(crc32c(data))));
}

}  // namespace meshwork
