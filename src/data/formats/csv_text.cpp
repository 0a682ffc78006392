#include "data/formats/csv_text.h"

#include <utf8.h>

#include <algorithm>
#include <cstring>
#include <span>
#include <utility>
#include <vector>

#include "base/error.h"
#include "data/formats/csv_reader.h"

namespace meshwork::data {
namespace {

/// The tokens that a sample has whatever its text is, and how many the text may have.
struct Frame {
  Surroundings around;
  std::size_t room = 0;
  std::int32_t pad = 0;
};

std::int32_t pad_of(const Tokenizer& tokenizer, const TextColumn& column) {
  const auto count = std::ssize(tokenizer.texts());
  if (column.pad) {
    if (*column.pad < count) return static_cast<std::int32_t>(*column.pad);
    config::fail_at(column.at, "pad is {}, but the tokenizer has {} tokens, from 0", *column.pad,
                    count);
  }
  for (const char* const token : {"[PAD]", "<pad>", "<|pad|>"}) {
    const std::int32_t number = tokenizer.find(token);
    if (number >= 0) return number;
  }
  config::fail_at(
      column.at,
      "the tokenizer has neither [PAD] nor <pad> nor <|pad|>; say with `pad` the number "
      "of the token that stands behind shorter texts");
}

Frame frame_of(const Tokenizer& tokenizer, const TextColumn& column) {
  Frame frame{.around = tokenizer.surroundings(), .pad = pad_of(tokenizer, column)};
  const std::size_t fixed = frame.around.before.size() + frame.around.behind.size();
  const auto length = static_cast<std::size_t>(column.length);
  if (fixed >= length) {
    config::fail_at(column.at,
                    "the tokenizer puts {} tokens around a text, which leaves none of a length of "
                    "{} to it",
                    fixed, length);
  }
  frame.room = length - fixed;
  return frame;
}

class CsvTextSource : public Source {
 public:
  CsvTextSource(SourceInfo info, CsvTexts texts, std::shared_ptr<const Tokenizer> tokenizer,
                Frame frame)
      : Source(std::move(info)),
        texts_(std::move(texts)),
        tokenizer_(std::move(tokenizer)),
        frame_(std::move(frame)) {}

  bool is_resident() const override { return true; }

 private:
  void fetch(std::int64_t /*begin*/, std::int64_t /*count*/, std::byte* out) const override {
    const auto bytes = texts_.file->all();
    CsvReader reader(texts_.file->path(),
                     {reinterpret_cast<const char*>(bytes.data()), bytes.size()}, texts_.delimiter);
    std::vector<std::string_view> cells;
    if (texts_.header) reader.next(cells);
    WordCache cache;
    while (reader.next(cells)) {
      const std::vector<std::int32_t> tokens = encode(reader, cells[texts_.column], cache);
      std::memcpy(out, tokens.data(), tokens.size() * sizeof tokens.front());
      out += tokens.size() * sizeof tokens.front();
    }
  }

  /// As many for each text.
  std::vector<std::int32_t> encode(const CsvReader& reader, std::string_view text,
                                   WordCache& cache) const {
    const std::size_t bad = utf8::find_invalid(text);
    if (bad != std::string_view::npos) {
      fail(ExitCode::kFile,
           "{}: {}: byte {} (0x{:02x}) is no UTF-8; convert the file (iconv -f latin1 -t utf8)",
           reader.place(), texts_.column_name, bad, static_cast<unsigned char>(text[bad]));
    }
    std::vector<std::int32_t> tokens = frame_.around.before;
    std::size_t room = frame_.room;
    tokenizer_->encode(text, cache, [&](std::span<const std::int32_t> some) {
      some = some.first(std::min(room, some.size()));
      tokens.insert(tokens.end(), some.begin(), some.end());
      room -= some.size();
    });
    tokens.insert(tokens.end(), frame_.around.behind.begin(), frame_.around.behind.end());
    tokens.insert(tokens.end(), room, frame_.pad);
    return tokens;
  }

  CsvTexts texts_;
  std::shared_ptr<const Tokenizer> tokenizer_;
  Frame frame_;
};

}  // namespace

std::optional<TextColumn> read_text_column(config::Reader& options) {
  const config::Value* file = options.find("tokenizer");
  if (file == nullptr) return std::nullopt;
  for (const char* key : {"classes", "one_hot"}) {
    const config::Value* other = options.find(key);
    if (other == nullptr) continue;
    config::fail_at(other->at, "a column of texts has a tokenizer; leave `{}` out", key);
  }
  const config::Value* columns = options.find("columns");
  if (columns == nullptr || columns->is_list()) {
    config::fail_at(file->at, "a tokenizer cuts the texts of one column; name it: columns: review");
  }
  TextColumn column{.tokenizer = read_tokenizer_key(options), .at = file->at};
  column.length = options.require_integer("length", config::at_least(1));
  if (options.find("pad") != nullptr) {
    column.pad = options.require_integer("pad", config::at_least(0));
  }
  return column;
}

std::unique_ptr<Source> open_csv_texts(CsvTexts texts, const TextColumn& column,
                                       const OpenContext& context) {
  auto [tokenizer, vocabulary] = column.tokenizer->open(context);
  Frame frame = frame_of(*tokenizer, column);
  const std::string& path = texts.file->path();
  checked_elements(path, {texts.records, column.length}, sizeof(std::int32_t));
  SourceInfo info{path, {texts.records, column.length}, DType::kInt32, std::move(vocabulary)};
  return std::make_unique<CsvTextSource>(std::move(info), std::move(texts), std::move(tokenizer),
                                         std::move(frame));
}

}  // namespace meshwork::data
