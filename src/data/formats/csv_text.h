#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "data/formats/csv_columns.h"
#include "data/formats/tokenizer_file.h"

namespace meshwork::data {

/// Keys of a field that is a column of texts: tokenizer (a tokenizer.json), length (of all its
/// samples; longer texts are cut, and keep the tokens that the tokenizer puts around them), pad
/// (the number behind shorter ones; by default that of the tokenizer's [PAD], <pad> or <|pad|>).
struct TextColumn {
  std::shared_ptr<TokenizerFile> tokenizer;
  std::int64_t length = 0;
  std::optional<std::int64_t> pad = std::nullopt;
  config::Location at;  ///< of `tokenizer`
};

/// nullopt where the field has no `tokenizer`.
std::optional<TextColumn> read_text_column(config::Reader& options);

/// A column of a file.
struct CsvTexts {
  std::unique_ptr<FileBytes> file;
  char delimiter = ',';
  bool header = true;
  std::size_t column = 0;
  std::string column_name;  ///< "column 'review'"
  std::int64_t records = 0;
};

/// Its texts as tokens, int32 [records, length].
std::unique_ptr<Source> open_csv_texts(CsvTexts texts, const TextColumn& column,
                                       const OpenContext& context);

}  // namespace meshwork::data
