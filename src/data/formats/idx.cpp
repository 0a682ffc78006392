// The IDX format of MNIST: 00 00 <type> <rank>, <rank> extents of 4 bytes, then the elements; all
// of it big-endian (http://yann.lecun.com/exdb/mnist).
#include <bit>
#include <optional>

#include "base/error.h"
#include "data/formats/array_source.h"
#include "data/formats/concatenated.h"

namespace meshwork::data {
namespace {

std::optional<DType> stored_type(std::byte code) {
  switch (std::to_integer<int>(code)) {
    case 0x08:
      return DType::kUInt8;
    case 0x09:
      return DType::kInt8;
    case 0x0B:
      return DType::kInt16;
    case 0x0C:
      return DType::kInt32;
    case 0x0D:
      return DType::kFloat32;
    case 0x0E:
      return DType::kFloat64;
    default:
      return std::nullopt;
  }
}

std::uint32_t big_endian(std::span<const std::byte> bytes) {
  std::uint32_t value = 0;
  for (const std::byte byte : bytes.first(4)) value = value << 8U | std::to_integer<unsigned>(byte);
  return value;
}

ArrayHeader read_header(const FileBytes& file) {
  constexpr std::size_t kLongest = 4 + 4 * 255;
  const HeapBytes head = file.head(kLongest);
  const std::span<const std::byte> bytes = head.span();
  if (bytes.size() < 4) {
    fail(ExitCode::kFile, "{}: {} bytes are too few for an IDX header; fetch the file again",
         file.path(), bytes.size());
  }
  const std::uint32_t magic = big_endian(bytes);
  const auto type = stored_type(bytes[2]);
  const std::size_t rank = std::to_integer<std::size_t>(bytes[3]);
  if (magic >> 16U != 0 || !type || rank == 0) {
    fail(ExitCode::kFile,
         "{}: magic number {:#010x} is not that of an IDX file (such as 0x00000803 of images, "
         "0x00000801 of labels); is it another format, or damaged?",
         file.path(), magic);
  }
  if (bytes.size() < 4 + 4 * rank) {
    fail(ExitCode::kFile, "{}: cut off in the IDX header of {} dimensions; fetch the file again",
         file.path(), rank);
  }
  const bool swapped = size_of(*type) > 1 && std::endian::native == std::endian::little;
  ArrayHeader header{.element = {*type, swapped}, .shape = {}, .offset = 4 + 4 * rank};
  for (std::size_t i = 0; i < rank; ++i) {
    header.shape.push_back(static_cast<std::int32_t>(big_endian(bytes.subspan(4 + 4 * i))));
  }
  return header;
}

Opener parse(const FieldEntry& entry) {
  return open_files(files_of(entry), [](const std::string& path, const OpenContext& context) {
    auto file = std::make_unique<FileBytes>(path);
    const ArrayHeader header = read_header(*file);
    return open_array(std::move(file), header, context);
  });
}

}  // namespace

const Format kIdx{.name = "idx", .parse = parse, .takes_files = true};

}  // namespace meshwork::data
