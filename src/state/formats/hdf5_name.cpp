// https://docs.hdfgroup.org/hdf5/develop/_f_m_t3.html: object headers of version 1, and of version
// 2, which HDF5 2 writes; attribute messages, the global heap
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
  if (!name.starts_with(std::string_view("name\0", 5)) || type.size() < 2) return {};
  constexpr int kVariableLength = 9, kText = 1;
  if ((type[0] & 0x0f) != kVariableLength || (type[1] & 0x0f) != kText) return {};
  const auto length = bytes.number<std::uint32_t>();
  const auto heap = bytes.number<std::uint64_t>();
  const auto index = bytes.number<std::uint32_t>();
  return text_of(file, heap, index, length);
}

struct Place {
  std::uint64_t begin = 0, bytes = 0;
};

/// An object header: where its first messages are, and how each begins.
struct Header {
  Place messages;
  int version = 1;
  std::size_t message_head = 8;  ///< bytes of a message before its data
};

std::optional<Header> header_at(const File& file, std::uint64_t begin) {
  constexpr std::uint64_t kLongest = 34;
  if (begin >= file.size()) return std::nullopt;
  const auto head = block_of(file, begin, std::min(kLongest, file.size() - begin));
  if (!head) return std::nullopt;
  Bytes bytes(*head);
  if ((*head)[0] == 1) {
    bytes.take(8);
    return Header{{begin + 16, bytes.number<std::uint32_t>()}};
  }
  if (bytes.take(4) != "OHDR" || bytes.number<std::uint8_t>() != 2) return std::nullopt;
  const auto flags = bytes.number<std::uint8_t>();
  if ((flags & 0x20U) != 0) bytes.take(16);  // times
  if ((flags & 0x10U) != 0) bytes.take(4);   // how many attributes stand here
  const std::string_view size = bytes.take(std::uint64_t{1} << (flags & 3U));
  if (size.empty()) return std::nullopt;
  const std::size_t message_head = (flags & 4U) != 0 ? 6 : 4;  // with the time it was made
  Header header{{begin + head->size() - bytes.left(), 0}, 2, message_head};
  std::memcpy(&header.messages.bytes, size.data(), size.size());
  return header;
}

struct Message {
  int type = 0;
  std::string_view data;
};

/// The next message of a block; nothing behind the last one.
std::optional<Message> next_message(const Header& header, Bytes& block) {
  if (block.left() < header.message_head) return std::nullopt;
  Bytes head(block.take(header.message_head));
  const int type = header.version == 1 ? head.number<std::uint16_t>() : head.number<std::uint8_t>();
  return Message{type, block.take(head.number<std::uint16_t>())};
}

/// Where a header goes on, by the data of a message; of version 2 between a signature and a
/// checksum.
Place continuation(const Header& header, std::string_view data) {
  Bytes bytes(data);
  const Place place{bytes.number<std::uint64_t>(), bytes.number<std::uint64_t>()};
  if (header.version == 1) return place;
  return {place.begin + 4, place.bytes < 8 ? 0 : place.bytes - 8};
}

}  // namespace

std::string hdf5_name_of(const File& file, std::uint64_t header_begin) {
  const std::optional<Header> header = header_at(file, header_begin);
  if (!header) return {};
  std::vector<Place> places{header->messages};
  for (std::size_t i = 0; i < places.size() && i < kMostBlocks; ++i) {
    const auto text = block_of(file, places[i].begin, places[i].bytes);
    if (!text) return {};
    Bytes block(*text);
    while (const std::optional<Message> message = next_message(*header, block)) {
      constexpr int kAttribute = 0x0c, kContinuation = 0x10;
      if (message->type == kContinuation) places.push_back(continuation(*header, message->data));
      if (message->type != kAttribute) continue;
      if (std::string name = name_in(file, message->data); !name.empty()) return name;
    }
  }
  return {};
}

}  // namespace meshwork::formats
