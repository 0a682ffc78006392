#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "data/formats/csv_columns.h"
#include "data/formats/text_samples.h"

namespace meshwork::data {

/// Those of a field that is a column of texts; nullopt where it has no `tokenizer`.
std::optional<TextKeys> read_text_column(config::Reader& options);

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
std::unique_ptr<Source> open_csv_texts(CsvTexts texts, const TextKeys& keys,
                                       const OpenContext& context);

}  // namespace meshwork::data
