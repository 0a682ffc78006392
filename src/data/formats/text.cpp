// Text in UTF-8, plain or gzip. Keys of the dataset: those of corpus.h; tokenizer, a
// tokenizer.json; or unit (character or byte), with vocabulary, the file of a run whose numbers of
// characters are to be taken; documents, those of text_documents.h.
#include <utf8.h>

#include <algorithm>
#include <optional>

#include "base/error.h"
#include "data/find_file.h"
#include "data/formats/array_source.h"
#include "data/formats/concatenated.h"
#include "data/formats/corpus.h"
#include "data/formats/text_documents.h"
#include "data/formats/tokenizer_file.h"
#include "data/tokenizer/unicode.h"

namespace meshwork::data {
namespace {

constexpr std::size_t kCodePoints = 0x110000;

using Documents = std::optional<TextDocuments>;

/// A file of text, which is looked through and then let go.
struct TextFile {
  std::unique_ptr<FileBytes> file;
  std::string_view text;

  const std::string& path() const { return file->path(); }
};

TextFile open_file(const std::string& path) {
  TextFile opened{std::make_unique<FileBytes>(path), {}};
  const auto bytes = opened.file->all();
  opened.text = {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  return opened;
}

/// Throws Error where it is no UTF-8.
TextFile open_text(const std::string& path) {
  TextFile opened = open_file(path);
  const std::size_t bad = utf8::find_invalid(opened.text);
  if (bad == std::string_view::npos) return opened;
  fail(ExitCode::kFile,
       "{}: byte {} (0x{:02x}) is no UTF-8; convert the file (iconv -f latin1 -t utf8), or read "
       "bytes with 'unit: byte'",
       path, bad, static_cast<unsigned char>(opened.text[bad]));
}

std::string name_of(std::span<const TextFile> files) {
  return name_of_all(files.front().path(), files.size());
}

/// The number of every character; -1 for one that has none.
using Numbers = std::vector<std::int32_t>;

/// Characters of all files in the order of their code points.
Vocabulary vocabulary_of(const std::vector<TextFile>& files, const Documents& documents) {
  std::vector<bool> seen(kCodePoints);
  for (const TextFile& file : files) {
    for_documents(file.text, file.path(), documents, [&](const TextDocument& document) {
      for_characters(document.text, [&](char32_t c, std::string_view) { seen[c] = true; });
    });
  }
  Vocabulary vocabulary{"character"};
  for (std::size_t c = 0; c < kCodePoints; ++c) {
    if (!seen[c]) continue;
    std::string& text = vocabulary.texts.emplace_back();
    utf8::append(static_cast<char32_t>(c), text);
  }
  return vocabulary;
}

Vocabulary read_characters(const std::string& path) {
  Vocabulary vocabulary = read_vocabulary(path);
  const bool fits =
      vocabulary.unit == "character" &&
      std::all_of(vocabulary.texts.begin(), vocabulary.texts.end(), [](const std::string& text) {
        return utf8::is_valid(text) && utf8::distance(text.begin(), text.end()) == 1;
      });
  if (fits) return vocabulary;
  fail(ExitCode::kFile,
       "{}: its unit is '{}', and not each of its tokens is one character; take "
       "the {} of a run on characters",
       path, printable(vocabulary.unit), kVocabularyFile);
}

Numbers numbers_of(const Vocabulary& vocabulary) {
  Numbers numbers(kCodePoints, -1);
  std::int32_t number = 0;
  for (const std::string& text : vocabulary.texts) {
    numbers[utf8::unchecked::peek_next(text.begin())] = number++;
  }
  return numbers;
}

/// The characters of a document by their numbers.
void add_characters(const TextDocument& document, const Numbers& numbers, TokenRowBuilder& row) {
  constexpr std::size_t kAtATime = 4096;
  std::vector<std::int32_t> some;
  for_characters(document.text, [&](char32_t c, std::string_view bytes) {
    if (numbers[c] < 0) {
      fail(ExitCode::kFile,
           "{}: the character U+{:04X} is not in the `vocabulary`; leave that key out to "
           "make a new one, or take the character out of the text",
           document.place_of(static_cast<std::size_t>(bytes.data() - document.text.data())),
           static_cast<std::uint32_t>(c));
    }
    some.push_back(numbers[c]);
    if (some.size() < kAtATime) return;
    row.add(some);
    some.clear();
  });
  row.add(some);
}

TokenRow number(std::span<const TextFile> files, const Documents& documents,
                const std::shared_ptr<const Vocabulary>& vocabulary, const Numbers& numbers) {
  TokenRowBuilder row(std::ssize(vocabulary->texts));
  std::int64_t count = 0;
  for (const TextFile& file : files) {
    count += utf8::unchecked::distance(file.text.begin(), file.text.end());
  }
  row.reserve(count);
  for (const TextFile& file : files) {
    for_documents(file.text, file.path(), documents, [&](const TextDocument& document) {
      row.begin_document();
      add_characters(document, numbers, row);
    });
  }
  return std::move(row).build(name_of(files), vocabulary);
}

/// The characters of each list of files, with one vocabulary for all.
std::vector<TokenRow> open_characters(const std::vector<FileNames>& lists,
                                      const Documents& documents,
                                      const std::optional<std::string>& vocabulary_file,
                                      const config::Location& at, const OpenContext& context) {
  std::vector<TextFile> files;
  std::vector<std::size_t> counts;  // of files of each list
  for (const FileNames& list : lists) {
    const std::vector<std::string> paths = paths_of(list, context);
    for (const std::string& path : paths) files.push_back(open_text(path));
    counts.push_back(paths.size());
  }
  const auto vocabulary = std::make_shared<const Vocabulary>(
      vocabulary_file ? read_characters(context.find_file(*vocabulary_file, at))
                      : vocabulary_of(files, documents));
  const Numbers numbers = numbers_of(*vocabulary);
  std::vector<TokenRow> rows;
  std::span<const TextFile> left(files);
  for (const std::size_t count : counts) {
    rows.push_back(number(left.first(count), documents, vocabulary, numbers));
    left = left.subspan(count);
  }
  return rows;
}

/// The row of a list of files, one after the other, of whose documents `add` adds the tokens.
template <class Add>
TokenRow read_documents(const FileNames& list, const Documents& documents,
                        const OpenContext& context, TextFile (*open)(const std::string&),
                        TokenRowBuilder row, const std::shared_ptr<const Vocabulary>& vocabulary,
                        const Add& add) {
  const std::vector<std::string> paths = paths_of(list, context);
  for (const std::string& path : paths) {
    const TextFile file = open(path);
    for_documents(file.text, path, documents, [&](const TextDocument& document) {
      row.begin_document();
      add(document.text, row);
    });
  }
  return std::move(row).build(name_of_all(paths.front(), paths.size()), vocabulary);
}

/// Words and parts of them, with the tokens that the tokenizer puts around a document.
TokenRow open_encoded(const FileNames& list, const Documents& documents, TokenizerFile& file,
                      const OpenContext& context) {
  const auto [tokenizer, vocabulary] = file.open(context);
  const Surroundings& around = tokenizer->surroundings();
  WordCache cache;
  return read_documents(list, documents, context, open_text,
                        TokenRowBuilder(std::ssize(vocabulary->texts)), vocabulary,
                        [&, &t = *tokenizer](std::string_view text, TokenRowBuilder& row) {
                          row.add(around.before);
                          t.encode(text, cache, [&](auto tokens) { row.add(tokens); });
                          row.add(around.behind);
                        });
}

std::shared_ptr<const Vocabulary> bytes_vocabulary() {
  return std::make_shared<const Vocabulary>(Vocabulary{"byte"});
}

/// Bytes as they stand in a file.
std::unique_ptr<Source> open_bytes(const std::string& path, const OpenContext& context) {
  auto file = std::make_unique<FileBytes>(path);
  const auto size = static_cast<std::int64_t>(file->size());
  return open_array(std::move(file), {{DType::kUInt8}, {size}, 0}, context, bytes_vocabulary());
}

TokenRow open_bytes_of_documents(const FileNames& list, const Documents& documents,
                                 const OpenContext& context) {
  return read_documents(list, documents, context, open_file, TokenRowBuilder(256),
                        bytes_vocabulary(), [](std::string_view text, TokenRowBuilder& row) {
                          std::vector<std::int32_t> bytes;
                          for (const char c : text) bytes.push_back(static_cast<unsigned char>(c));
                          row.add(bytes);
                        });
}

/// Rows of lists of files that need nothing of each other.
template <class OpenRow>
OpenRows each_list(OpenRow open) {
  return [open](const std::vector<FileNames>& lists, const OpenContext& context) {
    std::vector<TokenRow> rows;
    for (const FileNames& list : lists) rows.push_back(open(list, context));
    return rows;
  };
}

void refuse_beside(config::Reader& dataset, const char* key, const char* why) {
  const config::Value* value = dataset.find(key);
  if (value != nullptr) config::fail_at(value->at, "{}; leave `{}` out", why, key);
}

TokenFormat read(config::Reader& dataset) {
  const Documents documents = read_text_documents(dataset);
  if (const std::shared_ptr<TokenizerFile> file = read_tokenizer_key(dataset)) {
    for (const char* key : {"unit", "vocabulary"}) {
      refuse_beside(dataset, key, "the tokenizer says what tokens are");
    }
    return {each_list([documents, file](const FileNames& list, const OpenContext& context) {
      return open_encoded(list, documents, *file, context);
    })};
  }
  if (dataset.choose("unit", false, {{"character", false}, {"byte", true}})) {
    refuse_beside(dataset, "vocabulary", "bytes are their own numbers");
    if (!documents) return {open_each(open_bytes)};
    return {each_list([documents](const FileNames& list, const OpenContext& context) {
      return open_bytes_of_documents(list, documents, context);
    })};
  }
  const config::Value* vocabulary = dataset.find("vocabulary");
  std::optional<std::string> file;
  if (vocabulary != nullptr) file = vocabulary->as_string("vocabulary");
  const config::Location at = vocabulary != nullptr ? vocabulary->at : dataset.at();
  return {[documents, file, at](const std::vector<FileNames>& lists, const OpenContext& context) {
            return open_characters(lists, documents, file, at, context);
          },
          true};
}

}  // namespace

const Format kText{.name = "text",
                   .parse = [](const FieldEntry& entry) { return parse_tokens(entry, read); },
                   .gives_tokens = true};

}  // namespace meshwork::data
