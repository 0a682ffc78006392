// Text in UTF-8, plain or gzip. Keys of the dataset: those of corpus.h; unit (character or byte);
// vocabulary, the file of a run whose numbers of characters are to be taken.
#include <utf8.h>

#include <algorithm>
#include <cstring>
#include <optional>

#include "base/error.h"
#include "base/file.h"
#include "data/find_file.h"
#include "data/formats/array_source.h"
#include "data/formats/concatenated.h"
#include "data/formats/corpus.h"

namespace meshwork::data {
namespace {

constexpr std::size_t kCodePoints = 0x110000;

/// A file of text, which is looked through and then let go.
struct TextFile {
  std::unique_ptr<FileBytes> file;
  std::string_view text;
};

/// Throws Error where it is no UTF-8.
TextFile open_text(const std::string& path) {
  TextFile opened{std::make_unique<FileBytes>(path), {}};
  const auto bytes = opened.file->all();
  opened.text = {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  const std::size_t bad = utf8::find_invalid(opened.text);
  if (bad == std::string_view::npos) return opened;
  fail(ExitCode::kFile,
       "{}: byte {} (0x{:02x}) is no UTF-8; convert the file (iconv -f latin1 -t utf8), or read "
       "bytes with 'unit: byte'",
       path, bad, static_cast<unsigned char>(opened.text[bad]));
}

/// Calls `visit` with each character, a code point, of valid UTF-8, and the place it begins at.
template <class Visit>
void for_characters(std::string_view text, Visit visit) {
  const char* at = text.data();
  const char* const end = at + text.size();
  while (at != end) {
    const auto place = static_cast<std::size_t>(at - text.data());
    visit(static_cast<std::size_t>(utf8::unchecked::next(at)), place);
  }
}

/// The number of every character; -1 for one that has none.
using Numbers = std::vector<std::int32_t>;

/// Characters of all files in the order of their code points.
Vocabulary vocabulary_of(const std::vector<TextFile>& files) {
  std::vector<bool> seen(kCodePoints);
  for (const TextFile& file : files) {
    for_characters(file.text, [&](std::size_t c, std::size_t) { seen[c] = true; });
  }
  Vocabulary vocabulary{"character", {}};
  for (std::size_t c = 0; c < kCodePoints; ++c) {
    if (!seen[c]) continue;
    std::string& text = vocabulary.texts.emplace_back();
    utf8::append(static_cast<char32_t>(c), text);
  }
  return vocabulary;
}

Vocabulary read_vocabulary(const std::string& path) {
  Vocabulary vocabulary = parse_vocabulary(read_text_file(path), path);
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

/// The least type that holds the numbers.
DType dtype_of(const Vocabulary& vocabulary) {
  if (vocabulary.texts.size() <= 1U << 8U) return DType::kUInt8;
  return vocabulary.texts.size() <= 1U << 16U ? DType::kUInt16 : DType::kInt32;
}

template <class T>
std::byte* encode_as(const TextFile& file, const Numbers& numbers, std::byte* out) {
  for_characters(file.text, [&](std::size_t c, std::size_t place) {
    if (numbers[c] < 0) {
      fail(ExitCode::kFile,
           "{}: byte {}: the character U+{:04X} is not in the `vocabulary`; leave that key out to "
           "make a new one, or take the character out of the text",
           file.file->path(), place, c);
    }
    const auto number = static_cast<T>(numbers[c]);
    std::memcpy(out, &number, sizeof number);
    out += sizeof number;
  });
  return out;
}

std::byte* encode(const TextFile& file, const Numbers& numbers, DType dtype, std::byte* out) {
  if (dtype == DType::kUInt8) return encode_as<std::uint8_t>(file, numbers, out);
  if (dtype == DType::kUInt16) return encode_as<std::uint16_t>(file, numbers, out);
  return encode_as<std::int32_t>(file, numbers, out);
}

/// Characters of files, one after the other, by their numbers.
class CharacterSource : public Source {
 public:
  CharacterSource(SourceInfo info, HeapBytes numbers)
      : Source(std::move(info)), numbers_(std::move(numbers)) {}

  bool is_resident() const override { return true; }
  const std::byte* samples() const override { return numbers_.data.get(); }

 private:
  void fetch(std::int64_t begin, std::int64_t count, std::byte* out) const override {
    std::copy_n(samples() + begin * item(), count * item(), out);
  }

  HeapBytes numbers_;
};

std::shared_ptr<const Source> number(std::span<const TextFile> files,
                                     const std::shared_ptr<const Vocabulary>& vocabulary,
                                     const Numbers& numbers) {
  std::int64_t count = 0;
  for (const TextFile& file : files) {
    count += std::count_if(file.text.begin(), file.text.end(),
                           [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; });
  }
  const DType dtype = dtype_of(*vocabulary);
  HeapBytes all = HeapBytes::of_size(static_cast<std::size_t>(count) * size_of(dtype));
  std::byte* out = all.data.get();
  for (const TextFile& file : files) out = encode(file, numbers, dtype, out);
  return std::make_shared<CharacterSource>(
      SourceInfo{name_of_all(files.front().file->path(), files.size()), {count}, dtype, vocabulary},
      std::move(all));
}

/// The characters of each list of files, with one vocabulary for all.
std::vector<std::shared_ptr<const Source>> open_characters(
    const std::vector<FileNames>& lists, const std::optional<std::string>& vocabulary_file,
    const config::Location& at, const OpenContext& context) {
  std::vector<TextFile> files;
  std::vector<std::size_t> counts;  // of files of each list
  for (const FileNames& list : lists) {
    const std::vector<std::string> paths = paths_of(list, context);
    for (const std::string& path : paths) files.push_back(open_text(path));
    counts.push_back(paths.size());
  }
  const auto vocabulary = std::make_shared<const Vocabulary>(
      vocabulary_file ? read_vocabulary(context.find_file(*vocabulary_file, at))
                      : vocabulary_of(files));
  const Numbers numbers = numbers_of(*vocabulary);
  std::vector<std::shared_ptr<const Source>> rows;
  std::span<const TextFile> left(files);
  for (const std::size_t count : counts) {
    rows.push_back(number(left.first(count), vocabulary, numbers));
    left = left.subspan(count);
  }
  return rows;
}

/// Bytes as they stand in a file.
std::unique_ptr<Source> open_bytes(const std::string& path, const OpenContext& context) {
  auto file = std::make_unique<FileBytes>(path);
  const auto size = static_cast<std::int64_t>(file->size());
  return open_array(std::move(file), {{DType::kUInt8}, {size}, 0}, context,
                    std::make_shared<const Vocabulary>(Vocabulary{"byte"}));
}

TokenFormat read(config::Reader& dataset) {
  const bool by_bytes = dataset.choose("unit", false, {{"character", false}, {"byte", true}});
  const config::Value* vocabulary = dataset.find("vocabulary");
  if (by_bytes) {
    if (vocabulary != nullptr) {
      config::fail_at(vocabulary->at, "bytes are their own numbers; leave `vocabulary` out");
    }
    return {open_each(open_bytes)};
  }
  std::optional<std::string> file;
  if (vocabulary != nullptr) file = vocabulary->as_string("vocabulary");
  const config::Location at = vocabulary != nullptr ? vocabulary->at : dataset.at();
  return {[file, at](const std::vector<FileNames>& lists, const OpenContext& context) {
            return open_characters(lists, file, at, context);
          },
          true};
}

}  // namespace

const Format kText{.name = "text",
                   .parse = [](const FieldEntry& entry) { return parse_tokens(entry, read); }};

}  // namespace meshwork::data
