// Folders of texts in UTF-8, a subfolder per class, as keras.utils.text_dataset_from_directory
// reads them, as tokens:
//
//     format: texts
//     splits: {train: train, test: test}    # folders; or parts of one: files: all
//     class_names: [neg, pos]               # by default all subfolders, sorted
//     x: {tokenizer: tokenizer.json, length: 256, pad: 0}      # text_samples.h
//
// A text is a file that ends in .txt. Field x is the texts, y their classes; others say
// `part: text` or `part: label` (class_folders.h).
#include <utility>

#include "base/error.h"
#include "base/file.h"
#include "data/find_file.h"
#include "data/formats/class_folders.h"
#include "data/formats/text_samples.h"

namespace meshwork::data {
namespace {

const FileKind kFiles{.one = "text", .endings = {".txt"}, .not_read = {}, .instead = {}};

class TextsSource : public Source {
 public:
  TextsSource(const std::string& folder, std::vector<std::string> files, TextSamples samples)
      : Source(samples.info(folder, std::ssize(files))),
        files_(std::move(files)),
        samples_(std::move(samples)) {}

  bool is_resident() const override { return true; }

  SamplePlace place_of(std::int64_t sample) const override {
    return {files_[static_cast<std::size_t>(sample)], 0, "text"};
  }

 private:
  /// All of them, once.
  void fetch(std::int64_t /*begin*/, std::int64_t /*count*/, std::byte* out) const override {
    WordCache cache;
    for (const std::string& file : files_) {
      out = samples_.write(
          read_text_file(file), [&] { return file; }, cache, out);
    }
  }

  std::vector<std::string> files_;
  TextSamples samples_;
};

std::unique_ptr<Source> open_texts(const ClassFolders& spec, const TextKeys& keys,
                                   const OpenContext& context) {
  const std::string folder = find_folder(spec.folder, context.directories, spec.at, context.hint);
  TextSamples samples(keys, context);
  return std::make_unique<TextsSource>(folder, list_files(spec, folder, context).files,
                                       std::move(samples));
}

Opener parse(const FieldEntry& entry) {
  const ClassFolders spec = read_class_folders(entry, kFiles, entry.field);
  const std::string part = part_of(entry, entry.field, kFiles);
  if (part == "label") {
    return [spec](const OpenContext& context) { return open_labels(spec, context); };
  }
  if (part == "mask") {
    config::fail_at(entry.value.at, "texts have no masks; leave `mask_of` of '{}' out",
                    entry.field);
  }
  const std::optional<TextKeys> keys = read_text_keys(entry.options);
  if (!keys) {
    config::fail_at(entry.value.at,
                    "the texts of '{0}' need a tokenizer; write {0}: {{tokenizer: tokenizer.json, "
                    "length: 256}}",
                    entry.field);
  }
  return
      [spec, keys = *keys](const OpenContext& context) { return open_texts(spec, keys, context); };
}

}  // namespace

const Format kTexts{.name = "texts", .parse = parse, .takes_files = true};

}  // namespace meshwork::data
