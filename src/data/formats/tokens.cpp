// Token numbers: flat little-endian files as of nanoGPT, those with a header of llm.c
// (https://github.com/karpathy/llm.c), and .npy of one dimension; plain or gzip. Keys of the
// dataset: those of corpus.h; dtype (uint16 or uint32) of flat files.
#include <array>
#include <bit>
#include <optional>

#include "base/error.h"
#include "data/formats/concatenated.h"
#include "data/formats/corpus.h"
#include "data/formats/npy_header.h"

namespace meshwork::data {
namespace {

constexpr std::size_t kHeaderBytes = 256 * sizeof(std::int32_t);

/// A version of llm.c's header: 256 int32, of which the first are the magic number, the version and
/// the number of tokens.
struct Version {
  std::uint32_t magic;
  std::uint32_t version;
  DType dtype;
};
constexpr std::array kVersions{Version{20240520, 1, DType::kUInt16},
                               Version{20240801, 7, DType::kUInt32}};

/// Little-endian number `index` of the first bytes; 0 where they end before.
std::uint32_t number_at(std::span<const std::byte> head, std::size_t index) {
  std::uint32_t value = 0;
  if (head.size() < 4 * (index + 1)) return value;
  for (std::size_t i = 4; i > 0; --i) {
    value = value << 8U | std::to_integer<std::uint32_t>(head[4 * index + i - 1]);
  }
  return value;
}

Element little_endian(DType dtype) { return {dtype, std::endian::native == std::endian::big}; }

/// nullopt for a file without a header of llm.c.
std::optional<ArrayHeader> parse_header(const std::string& path, std::span<const std::byte> head) {
  for (const auto& [magic, version, dtype] : kVersions) {
    if (number_at(head, 0) != magic) continue;
    if (head.size() < kHeaderBytes) {
      fail(ExitCode::kFile, "{}: {} bytes, but the header alone has {}; the file is cut off", path,
           head.size(), kHeaderBytes);
    }
    if (number_at(head, 1) != version) {
      fail(ExitCode::kFile, "{}: version {} of the header with magic number {}; known: {}", path,
           number_at(head, 1), magic, version);
    }
    return ArrayHeader{little_endian(dtype), {std::int64_t{number_at(head, 2)}}, kHeaderBytes};
  }
  return std::nullopt;
}

ArrayHeader flat_header(const FileBytes& file, DType dtype) {
  const std::size_t size = file.size();
  if (size % size_of(dtype) != 0) {
    fail(ExitCode::kFile,
         "{}: {} bytes are no whole number of {} tokens; is it a file of tokens, whole, and its "
         "`dtype` right?",
         file.path(), size, to_string(dtype));
  }
  return {little_endian(dtype), {static_cast<std::int64_t>(size / size_of(dtype))}, 0};
}

ArrayHeader npy_tokens(const std::string& path, std::span<const std::byte> head) {
  ArrayHeader header = parse_npy_header(path, head);
  if (header.shape.size() == 1 && !is_floating(header.element.type)) return header;
  fail(ExitCode::kFile,
       "{}: {} of shape {} are no row of tokens; save whole numbers of one dimension "
       "(numpy: tokens.reshape(-1).astype('uint16'))",
       path, to_string(header.element.type), to_string(header.shape));
}

/// `given`: the dtype of the description.
ArrayHeader header_of(const FileBytes& file, std::optional<DType> given) {
  const HeapBytes head = file.head(kNpyHeaderLimit);
  std::optional<ArrayHeader> header;
  if (is_npy(head.span())) {
    header = npy_tokens(file.path(), head.span());
  } else {
    header = parse_header(file.path(), head.span());
  }
  if (!header) return flat_header(file, given.value_or(DType::kUInt16));
  if (!given || header->element.type == *given) return *header;
  fail(ExitCode::kFile, "{}: its header says {}, but the description `dtype: {}`; leave that out",
       file.path(), to_string(header->element.type), to_string(*given));
}

TokenFormat read(config::Reader& dataset) {
  std::optional<DType> given;
  if (const config::Value* value = dataset.find("dtype")) {
    given = config::choose<DType>(*value, "dtype of tokens",
                                  {{"uint16", DType::kUInt16}, {"uint32", DType::kUInt32}});
  }
  return {open_each([given](const std::string& path, const OpenContext& context) {
    auto file = std::make_unique<FileBytes>(path);
    const ArrayHeader header = header_of(*file, given);
    return open_array(std::move(file), header, context,
                      std::make_shared<const Vocabulary>(Vocabulary{"token"}));
  })};
}

}  // namespace

const Format kTokens{.name = "tokens",
                     .parse = [](const FieldEntry& entry) { return parse_tokens(entry, read); }};

}  // namespace meshwork::data
