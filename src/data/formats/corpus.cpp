#include "data/formats/corpus.h"

#include <mutex>
#include <optional>
#include <utility>

#include "base/error.h"
#include "base/names.h"
#include "data/fractions.h"

namespace meshwork::data {
namespace {

using config::fail_at;
using config::Value;

/// Where the tokens of a split come from.
struct SplitPart {
  std::string split;
  std::size_t list = 0;     ///< of files
  Fraction part = {};       ///< of its tokens
  std::int64_t stride = 0;  ///< of its windows
};

/// All splits of a description, opened when they are needed.
class Corpus {
 public:
  Corpus(const FieldEntry& entry, TokenFormat format)
      : format_(std::move(format)),
        context_(entry.dataset.require_integer("context", config::at_least(1))),
        at_(entry.dataset.find("context")->at) {
    const Value* files = entry.dataset.find("files");
    if (files != nullptr) lists_.push_back(file_names(*files, "files"));
    for (const Value::Entry& split : entry.description.find("splits")->value.map) {
      files != nullptr ? add_fraction(split) : add_files(split);
    }
    rows_.resize(lists_.size());
    read_strides(entry.dataset);
  }

  /// `documents`: what a field says of these; nullopt: it is the tokens.
  std::unique_ptr<Source> open(const std::string& split, std::int64_t shift,
                               const std::optional<DocumentField>& documents,
                               const OpenContext& context) {
    const SplitPart& part = part_of(split);
    const Stretch stretch = stretch_of(part, context);
    const Windows windows{context_, part.stride, shift};
    if (stretch.count > context_ && documents) {
      return cut_document_windows(stretch, windows, *documents);
    }
    if (stretch.count > context_) return cut_windows(stretch, windows);
    const SourceInfo& info = stretch.row.tokens->info();
    const std::string& unit = info.vocabulary->unit;
    fail_at(at_,
            "context: {} {}s and the next one are a sample, but split '{}' has {} in all ({}); "
            "lower context, or give it more of them",
            context_, unit, split, stretch.count, info.name);
  }

 private:
  static void check_is_files(const Value::Entry& split) {
    if (!split.value.is_map()) return;
    fail_at(split.value.at,
            "splits.{} must name a file, or a list of these, not a map: it gives x, and y, the "
            "same one token later",
            split.key);
  }

  void add_files(const Value::Entry& split) {
    check_is_files(split);
    parts_.push_back({.split = split.key, .list = lists_.size()});
    lists_.push_back(file_names(split.value, "splits." + split.key));
  }

  void add_fraction(const Value::Entry& split) {
    check_is_files(split);
    const double begin = parts_.empty() ? 0 : parts_.back().part.end;
    parts_.push_back({.split = split.key, .part = read_fraction(split, begin)});
  }

  /// One for all splits, or a map of some.
  void read_strides(config::Reader& dataset) {
    const Value* value = dataset.find("stride");
    const bool is_map = value != nullptr && value->is_map();
    config::Reader strides(is_map ? *value : Value{}, "stride");
    for (SplitPart& part : parts_) {
      part.stride = is_map ? strides.get(part.split, context_, config::at_least(1))
                           : dataset.get("stride", context_, config::at_least(1));
    }
    strides.finish();
  }

  const SplitPart& part_of(const std::string& split) const {
    std::size_t i = 0;
    while (parts_[i].split != split) ++i;
    return parts_[i];
  }

  Stretch stretch_of(const SplitPart& part, const OpenContext& context) {
    const std::lock_guard lock(mutex_);
    if (rows_[part.list].tokens == nullptr) open_rows(part.list, context);
    const TokenRow& row = rows_[part.list];
    const std::int64_t count = row.tokens->info().shape[0];
    const std::int64_t first = count_of(part.part.begin, count);
    return {row, first, count_of(part.part.end, count) - first};
  }

  void open_rows(std::size_t list, const OpenContext& context) {
    if (format_.together) {
      rows_ = format_.open(lists_, context);
    } else {
      rows_[list] = format_.open({lists_[list]}, context).front();
    }
  }

  TokenFormat format_;
  std::int64_t context_;
  config::Location at_;  ///< of the context
  std::vector<FileNames> lists_;
  std::vector<SplitPart> parts_;
  std::mutex mutex_;
  std::vector<TokenRow> rows_;  ///< of each list; without tokens before it is opened
};

}  // namespace

OpenRows open_each(FileOpener open_file) {
  return [open_file = std::move(open_file)](const std::vector<FileNames>& lists,
                                            const OpenContext& context) {
    std::vector<TokenRow> rows;
    for (const FileNames& list : lists) rows.push_back({open_all(list, open_file, context)});
    return rows;
  };
}

Opener parse_tokens(const FieldEntry& entry, TokenFormat (*read)(config::Reader& dataset)) {
  if (entry.kept == nullptr) entry.kept = std::make_shared<Corpus>(entry, read(entry.dataset));
  const bool is_masked = entry.dataset.find("mask_tokens") != nullptr;
  const std::int64_t shift = entry.field == names::kLabels && !is_masked ? 1 : 0;
  std::optional<DocumentField> documents;
  if (entry.field == names::kSegments) documents = DocumentField::kSegments;
  if (entry.field == names::kPositions) documents = DocumentField::kPositions;
  if (shift == 1 && entry.description.find("documents") != nullptr) {
    documents = DocumentField::kLabels;
  }
  return [corpus = std::static_pointer_cast<Corpus>(entry.kept), split = entry.split, shift,
          documents](const OpenContext& context) {
    return corpus->open(split, shift, documents, context);
  };
}

}  // namespace meshwork::data
