// https://docs.hdfgroup.org/hdf5/develop/_f_m_t3.html: object headers of version 1, attribute
// messages, the global heap
#include "state/formats/hdf5_name.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <string_view>
#include <vector>

namespace meshwork::formats {
namespace {

constexpr std::uint64_t kMostBytes = 1U << 16U;  // of a block of messages, or of a heap
constexpr std::size_t kMostBlocks = 16;

/// Bytes that are read one number after the other; beyond their end all numbers are 0.
class Bytes {
 public:
  explicit Bytes(std::string_view text) : text_(text) {}

  template <class T>
  T number() {
    T value{};
    const std::string_view bytes = take(sizeof value);
    if (bytes.size() == sizeof value) std::memcpy(&value, bytes.data(), sizeof value);
    return value;
  }
  /// Empty where there are fewer.
  std::string_view take(std::uint64_t count) {
    if (count > text_.size()) {
      text_ = {};
      return {};
    }
    const std::string_view bytes = text_.substr(0, count);
    text_.remove_prefix(count);
    return bytes;
  }
  std::size_t left() const { return text_.size(); }

 private:
  std::string_view text_;
};

std::optional<std::string> block_of(const File& file, std::uint64_t begin, std::uint64_t bytes) {
  const std::uint64_t size = file.size();
  if (bytes > kMostBytes || begin > size || bytes > size - begin) return std::nullopt;
  std::string block(bytes, '\0');
  file.read_at(block.data(), block.size(), begin);
  return block;
}

std::uint64_t padded(std::uint64_t bytes) { return (bytes + 7) / 8 * 8; }

/// An object of the global heap at `heap`, of `length` bytes.
std::string text_of(const File& file, std::uint64_t heap, std::uint32_t index,
                    std::uint32_t length) {
  const auto head = block_of(file, heap, 16);
  if (!head || !head->starts_with(std::string_view("GCOL\x01", 5))) return {};
  std::uint64_t bytes = 0;
  std::memcpy(&bytes, head->data() + 8, sizeof bytes);
  const auto block = block_of(file, heap, bytes);
  if (!block) return {};
  Bytes objects(*block);
  objects.take(16);
  while (objects.left() >= 16) {
    const auto number = objects.number<std::uint16_t>();
    objects.take(6);
    const auto size = objects.number<std::uint64_t>();
    if (number == 0 || size > kMostBytes) return {};
    const std::string_view data = objects.take(padded(size));
    if (number == index) return std::string(data.substr(0, std::min<std::uint64_t>(length, size)));
  }
  return {};
}

/// The text of an attribute message, if it is called "name".
std::string name_in(const File& file, std::string_view message) {
  Bytes bytes(message);
  const auto version = bytes.number<std::uint8_t>();
  const auto flags = bytes.number<std::uint8_t>();
  const auto name_bytes = bytes.number<std::uint16_t>();
  const auto type_bytes = bytes.number<std::uint16_t>();
  const auto space_bytes = bytes.number<std::uint16_t>();
  if (version < 1 || version > 3 || (version > 1 && flags != 0)) return {};
  if (version == 3) bytes.take(1);  // the character set
  const auto part = [&](std::uint16_t count) {
    return bytes.take(version == 1 ? padded(count) : count);
  };
  const std::string_view name = part(name_bytes);
  const std::string_view type = part(type_bytes);
  part(space_bytes);
  constexpr std::string_view kVariableLength("\x19\x01", 2);  // version 1 of the type, a text
  if (!name.starts_with(std::string_view("name\0", 5)) || type.size() < 2) return {};
  if (type[0] != kVariableLength[0] || (type[1] & 0x0f) != kVariableLength[1]) return {};
  const auto length = bytes.number<std::uint32_t>();
  const auto heap = bytes.number<std::uint64_t>();
  const auto index = bytes.number<std::uint32_t>();
  return text_of(file, heap, index, length);
}

}  // namespace

std::string hdf5_name_of(const File& file, std::uint64_t header) {
  const auto head = block_of(file, header, 16);
  if (!head || (*head)[0] != 1) return {};
  std::uint32_t first = 0;
  std::memcpy(&first, head->data() + 8, sizeof first);
  struct Place {
    std::uint64_t begin, bytes;
  };
  std::vector<Place> blocks{{header + 16, first}};
  for (std::size_t i = 0; i < blocks.size() && i < kMostBlocks; ++i) {
    const auto block = block_of(file, blocks[i].begin, blocks[i].bytes);
    if (!block) return {};
    Bytes messages(*block);
    while (messages.left() >= 8) {
      const auto type = messages.number<std::uint16_t>();
      const auto size = messages.number<std::uint16_t>();
      messages.take(4);
      const std::string_view message = messages.take(size);
      constexpr std::uint16_t kAttribute = 0x0c, kContinuation = 0x10;
      if (type == kContinuation) {
        Bytes place(message);
        const auto begin = place.number<std::uint64_t>();
        blocks.push_back({begin, place.number<std::uint64_t>()});
      }
      if (type != kAttribute) continue;
      if (std::string name = name_in(file, message); !name.empty()) return name;
    }
  }
  return {};
}

}  // namespace meshwork::formats
