#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "config/value.h"

namespace meshwork::data {

/// How a text has documents:
///
///     documents: {separator: "<|endoftext|>"}        # of which one ends behind each of these
///     documents: {key: text, end: "<|endoftext|>"}   # JSON lines: {"text": ".."}, and what is put
///                                                    # behind each document
struct TextDocuments {
  std::string separator;  ///< empty: JSON lines
  std::string key, end;
};

/// The key `documents` of a dataset; nullopt: a file is one document.
std::optional<TextDocuments> read_text_documents(config::Reader& dataset);

/// A document and its place for errors: "t.txt: byte 17", "t.jsonl: line 3".
struct TextDocument {
  std::string_view text;
  const std::string& path;
  std::size_t offset = 0;  ///< of the text in the file
  std::int64_t line = 0;   ///< if not 0, of the file

  std::string place_of(std::size_t byte) const;
};

/// Calls `visit` with each document of a file. Throws Error with ExitCode::kFile for a line that is
/// no JSON object with a text.
void for_documents(std::string_view text, const std::string& path,
                   const std::optional<TextDocuments>& documents,
                   const std::function<void(const TextDocument&)>& visit);

}  // namespace meshwork::data
