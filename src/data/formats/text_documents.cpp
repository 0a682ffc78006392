#include "data/formats/text_documents.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/json.h"

namespace meshwork::data {
namespace {

void for_separated(std::string_view text, const std::string& path, const std::string& separator,
                   const std::function<void(const TextDocument&)>& visit) {
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t found = text.find(separator, begin);
    const std::size_t end = found == text.npos ? text.size() : found + separator.size();
    visit({text.substr(begin, end - begin), path, begin});
    begin = end;
  }
}

/// {"text": ".."} -> the text and the end.
std::string document_of(std::string_view line, const TextDocuments& documents,
                        const std::string& path, std::int64_t number) {
  const std::string place =
      fmt::format("{}: line {}: no JSON object with a text '{}'", path, number, documents.key);
  const auto object = parse_json<nlohmann::json>(line, place);
  try {
    return object.at(documents.key).get<std::string>() + documents.end;
  } catch (const nlohmann::json::exception& error) {
    fail(ExitCode::kFile, "{}: {}", place, error.what());
  }
}

void for_lines(std::string_view text, const std::string& path, const TextDocuments& documents,
               const std::function<void(const TextDocument&)>& visit) {
  std::int64_t number = 0;
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    ++number;
    if (line.find_first_not_of(" \t\r") == line.npos) continue;
    const std::string document = document_of(line, documents, path, number);
    visit({.text = document, .path = path, .line = number});
  }
}

}  // namespace

std::string TextDocument::place_of(std::size_t byte) const {
  if (line > 0) return fmt::format("{}: line {}: byte {} of its text", path, line, byte);
  return fmt::format("{}: byte {}", path, offset + byte);
}

std::optional<TextDocuments> read_text_documents(config::Reader& dataset) {
  const config::Value* value = dataset.find("documents");
  if (value == nullptr) return std::nullopt;
  config::Reader keys(*value, "documents");
  TextDocuments documents{.separator = keys.get("separator", ""),
                          .key = keys.get("key", ""),
                          .end = keys.get("end", "")};
  keys.finish();
  const bool has_lines = !documents.key.empty();
  if (documents.separator.empty() != has_lines || (!has_lines && !documents.end.empty())) {
    config::fail_at(value->at,
                    "documents: a text has either a `separator`, which is not empty, or is JSON "
                    "lines, with the `key` of their texts and what is put at their `end`");
  }
  return documents;
}

void for_documents(std::string_view text, const std::string& path,
                   const std::optional<TextDocuments>& documents,
                   const std::function<void(const TextDocument&)>& visit) {
  if (!documents) return visit({text, path});
  if (documents->separator.empty()) return for_lines(text, path, *documents, visit);
  for_separated(text, path, documents->separator, visit);
}

}  // namespace meshwork::data
