// Token numbers: flat little-endian files as of nanoGPT, those with a header of llm.c
// (https://github.com/karpathy/llm.c), and .npy of one dimension; plain or gzip. Keys of the
// dataset: those of corpus.h; dtype (uint16 or uint32) of flat files; tokenizer, which has made
// them; documents, by the token that ends or begins one.
#include <algorithm>
#include <array>
#include <bit>
#include <optional>

#include "base/error.h"
#include "data/formats/concatenated.h"
#include "data/formats/corpus.h"
#include "data/formats/npy_header.h"
#include "data/formats/tokenizer_file.h"

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

/// What is written as larger numbers is nought in every second word, read as uint16.
void check_not_wider(const std::string& path, std::span<const std::byte> head) {
  constexpr std::size_t kLooked = 4096;
  const std::size_t pairs = std::min(head.size() / 4, kLooked);
  bool has_numbers = false;
  for (std::size_t i = 0; i < pairs; ++i) {
    const std::uint32_t pair = number_at(head, i);
    if (pair >> 16U != 0) return;
    has_numbers = has_numbers || pair != 0;
  }
  if (!has_numbers || pairs < 2) return;
  fail(ExitCode::kFile,
       "{}: every second number is 0, read as uint16; tokens of uint32 want `dtype: uint32`, those "
       "of int64 are to be saved as uint16 or uint32 (numpy: tokens.astype('uint16')); if they are "
       "right as they are, say `dtype: uint16`",
       path);
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
  if (!header && !given) check_not_wider(file.path(), head.span());
  if (!header) return flat_header(file, given.value_or(DType::kUInt16));
  if (!given || header->element.type == *given) return *header;
  fail(ExitCode::kFile, "{}: its header says {}, but the description `dtype: {}`; leave that out",
       file.path(), to_string(header->element.type), to_string(*given));
}

/// Where documents begin, by a token of each.
struct Marks {
  std::int64_t token = 0;
  bool is_first = false;  ///< of a document; else its last
};

/// documents: {end_token: 50256} or {begin_token: 50256}
std::optional<Marks> read_documents(config::Reader& dataset) {
  const config::Value* value = dataset.find("documents");
  if (value == nullptr) return std::nullopt;
  config::Reader keys(*value, "documents");
  const auto end = keys.get_integer("end_token", config::at_least(0));
  const auto begin = keys.get_integer("begin_token", config::at_least(0));
  keys.finish();
  if (end.has_value() != begin.has_value()) return Marks{end ? *end : *begin, begin.has_value()};
  config::fail_at(value->at,
                  "documents: tokens have either an `end_token`, the last one of each document, or "
                  "a `begin_token`, the first one");
}

DocumentStarts starts_of(const std::shared_ptr<const Source>& tokens, const Marks& marks) {
  return [tokens, marks](std::int64_t first, std::span<std::uint8_t> begins) {
    // Where a token ends a document, the next one begins behind it: so one token more is read.
    const std::int64_t before = marks.is_first || first == 0 ? 0 : 1;
    std::vector<std::int32_t> numbers(begins.size() + static_cast<std::size_t>(before));
    read_tokens(*tokens, first - before, numbers);
    for (std::size_t i = 0; i < begins.size(); ++i) {
      const std::int64_t at = static_cast<std::int64_t>(i) + before - (marks.is_first ? 0 : 1);
      begins[i] = at < 0 || numbers[static_cast<std::size_t>(at)] == marks.token ? 1 : 0;
    }
  };
}

/// The rows with the documents in them.
OpenRows with_documents(OpenRows open, const Marks& marks) {
  return [open = std::move(open), marks](const std::vector<FileNames>& lists,
                                         const OpenContext& context) {
    std::vector<TokenRow> rows = open(lists, context);
    for (TokenRow& row : rows) row.starts = starts_of(row.tokens, marks);
    return rows;
  };
}

TokenFormat read(config::Reader& dataset) {
  std::optional<DType> given;
  if (const config::Value* value = dataset.find("dtype")) {
    given = config::choose<DType>(*value, "dtype of tokens",
                                  {{"uint16", DType::kUInt16}, {"uint32", DType::kUInt32}});
  }
  const std::shared_ptr<TokenizerFile> tokenizer = read_tokenizer_key(dataset);
  const std::optional<Marks> marks = read_documents(dataset);
  OpenRows open =
      open_each([given, tokenizer](const std::string& path, const OpenContext& context) {
        auto file = std::make_unique<FileBytes>(path);
        const ArrayHeader header = header_of(*file, given);
        return open_array(std::move(file), header, context,
                          tokenizer != nullptr
                              ? tokenizer->open(context).vocabulary
                              : std::make_shared<const Vocabulary>(Vocabulary{"token"}));
      });
  return {marks ? with_documents(std::move(open), *marks) : std::move(open)};
}

}  // namespace

const Format kTokens{.name = "tokens",
                     .parse = [](const FieldEntry& entry) { return parse_tokens(entry, read); },
                     .gives_tokens = true};

}  // namespace meshwork::data
