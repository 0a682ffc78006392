#include "data/description.h"

#include <algorithm>
#include <array>
#include <memory>

#include "base/join.h"
#include "base/names.h"
#include "base/nearest.h"

namespace meshwork::data {
namespace {

using config::fail_at;
using config::Reader;
using config::Value;

constexpr std::array<std::string_view, 3> kSplits{"train", "validation", "test"};
constexpr std::array<std::string_view, 24> kReserved{
    "name",       "format",      "directories", "splits",        "take",
    "hint",       "cache",       "seed",        "header",        "delimiter",
    "color_mode", "image_size",  "class_names", "interpolation", "crop_to_aspect_ratio",
    "files",      "context",     "stride",      "unit",          "vocabulary",
    "dtype",      "mask_tokens", "tokenizer",   "documents"};

/// The fields of the split given as a map that names most, else x and y. Others may lack labels.
std::vector<std::string> fields_of_splits(const Value& splits) {
  std::vector<std::string> most;
  for (const Value::Entry& split : splits.map) {
    if (!split.value.is_map()) continue;
    std::vector<std::string> names;
    for (const Value::Entry& field : split.value.map) {
      if (std::find(kReserved.begin(), kReserved.end(), field.key) != kReserved.end()) {
        fail_at(field.at, "a field cannot be called '{}': that is a key of the description",
                field.key);
      }
      if (names::is_given_in_steps(field.key)) {
        fail_at(field.at,
                "a field cannot be called '{}': every step of training is given that; "
                "rename it",
                field.key);
      }
      names.push_back(field.key);
    }
    if (names.empty()) fail_at(split.value.at, "split '{}' has no fields", split.key);
    if (names.size() > most.size()) most = std::move(names);
  }
  if (!most.empty()) return most;
  return {names::kFeatures, names::kLabels};
}

const Format& read_format(Reader& keys) {
  const Value& value = keys.require("format");
  const std::string name = value.as_string("format");
  const Format* format = find_format(name);
  if (format == nullptr) {
    fail_at(value.at, "unknown dataset format '{}'{}", name, suggestion(name, format_names()));
  }
  return *format;
}

/// What stands at splits.<split>.<field>; the split's own value where one file holds all fields;
/// null where the split has no such field.
const Value* field_value(const Value::Entry& split, const std::string& field) {
  if (!split.value.is_map()) return &split.value;
  const Value::Entry* entry = split.value.find(field);
  return entry == nullptr || entry->value.is_null() ? nullptr : &entry->value;
}

bool some_split_has(const Value& splits, const std::string& field) {
  return std::any_of(splits.map.begin(), splits.map.end(), [&](const Value::Entry& split) {
    return field_value(split, field) != nullptr;
  });
}

/// To predict, data need no labels: a field is missed only where it is asked for. Weights of
/// samples are not missed at all: samples of a split without them count alike.
Opener no_field(const Value::Entry& split, const std::string& field) {
  if (field == names::kSampleWeight) return nullptr;
  return [at = split.value.at, split = split.key,
          field](const OpenContext&) -> std::unique_ptr<Source> {
    fail_at(at, "split '{}' has no field '{}'", split, field);
  };
}

void check_split(const Value::Entry& split, const std::vector<std::string>& fields) {
  if (std::find(kSplits.begin(), kSplits.end(), split.key) == kSplits.end()) {
    fail_at(split.at, "unknown split '{}'{}", split.key,
            suggestion(split.key, {kSplits.begin(), kSplits.end()}));
  }
  for (const Value::Entry& field : split.value.map) {
    if (std::find(fields.begin(), fields.end(), field.key) == fields.end()) {
      fail_at(field.at, "split '{}' has a field '{}' that others do not have{}", split.key,
              field.key, suggestion(field.key, fields));
    }
  }
}

std::optional<std::int64_t> read_take(const Value* take, const std::string& split) {
  if (take == nullptr) return std::nullopt;
  const Value* count = take;
  if (take->is_map()) {
    const Value::Entry* entry = take->find(split);
    if (entry == nullptr) return std::nullopt;
    count = &entry->value;
  }
  const std::int64_t samples = count->as_integer("take");
  if (samples < 1) fail_at(count->at, "take must be a positive number of samples, not {}", samples);
  return samples;
}

void check_take(const Value* take, const std::vector<SplitSpec>& splits) {
  if (take == nullptr || !take->is_map()) return;
  Reader keys(*take, "take");
  for (const SplitSpec& split : splits) keys.find(split.name);
  keys.finish();
}

std::vector<std::string> read_directories(Reader& keys) {
  const Value* value = keys.find("directories");
  if (value == nullptr) return {};
  if (!value->is_list()) return {value->as_string("directories")};
  std::vector<std::string> directories;
  for (const Value& item : value->list) directories.push_back(item.as_string("directories"));
  return directories;
}

/// A description that is being read.
struct Description {
  const Value& whole;
  const Format& format;
  const Value& splits;
  Reader& keys;
  std::vector<std::string> fields = {};  ///< their names
  std::vector<Reader> options = {};      ///< the keys of each field
  std::shared_ptr<void> kept = {};       ///< what the format keeps for all entries
};

std::vector<std::string> field_names(const Description& from) {
  std::vector<std::string> names = fields_of_splits(from.splits);
  if (from.format.gives_tokens && from.whole.find("documents") != nullptr) {
    names.insert(names.end(), {names::kSegments, names::kPositions});
  }
  // A file of all fields has weights where the description says which they are.
  const bool has_files_of_all = std::ranges::any_of(
      from.splits.map, [](const Value::Entry& split) { return !split.value.is_map(); });
  const bool has_weights = std::ranges::count(names, names::kSampleWeight) > 0;
  if (has_files_of_all && !has_weights && from.whole.find(names::kSampleWeight) != nullptr) {
    names.emplace_back(names::kSampleWeight);
  }
  // Labels that are described, though no split that is left has any.
  const bool has_labels = std::find(names.begin(), names.end(), names::kLabels) != names.end();
  if (!has_labels && from.whole.find(names::kLabels) != nullptr) names.emplace_back(names::kLabels);
  return names;
}

std::vector<FieldSpec> read_fields(Description& from) {
  const std::optional<TokenMask> mask = read_mask(from.keys.find("mask_tokens"));
  const Value none{};
  std::vector<FieldSpec> fields;
  for (const std::string& name : from.fields) {
    const Value* value = from.keys.find(name);
    from.options.emplace_back(value == nullptr ? none : *value, "field '" + name + "'");
    FieldSpec& field = fields.emplace_back(read_field(name, from.options.back()));
    if (!names::is_of_documents(name)) field.mask = mask;
    if (field.mask) field.mask->is_label = name == names::kLabels;
  }
  return fields;
}

/// A field that has no key of its own must have a value in a split.
void check_fields(const Description& from) {
  if (from.splits.map.empty()) return;
  for (const std::string& name : from.fields) {
    if (from.whole.find(name) != nullptr || some_split_has(from.splits, name)) continue;
    fail_at(from.splits.at, "no split has a value for field '{}'; name its file", name);
  }
}

SplitSpec read_split(const Value::Entry& entry, const Value* take, Description& from) {
  check_split(entry, from.fields);
  SplitSpec split{
      .name = entry.key, .openers = {}, .take = read_take(take, entry.key), .at = entry.at};
  for (std::size_t i = 0; i < from.fields.size(); ++i) {
    const std::string& field = from.fields[i];
    const Value* value = field_value(entry, field);
    split.openers.push_back(value == nullptr ? no_field(entry, field)
                                             : from.format.parse({.split = entry.key,
                                                                  .field = field,
                                                                  .value = *value,
                                                                  .fields = from.fields,
                                                                  .description = from.whole,
                                                                  .dataset = from.keys,
                                                                  .options = from.options[i],
                                                                  .kept = from.kept}));
  }
  return split;
}

/// Finds unknown keys. Of a field that no split has the format has not asked for any.
void finish(const Description& from) {
  for (std::size_t i = 0; i < from.fields.size(); ++i) {
    if (some_split_has(from.splits, from.fields[i])) from.options[i].finish();
  }
  from.keys.finish();
}

}  // namespace

DatasetSpec read_description(const Value& description) {
  Reader keys(description, "dataset");
  DatasetSpec spec;
  spec.at = description.at;
  spec.name = keys.get("name", "");
  const Format& format = read_format(keys);
  spec.format = format.name;
  spec.directories = read_directories(keys);
  spec.hint = keys.get("hint", "");
  if (const Value* cache = keys.find("cache")) spec.cache = cache->as_bool("cache");
  const Value* take = keys.find("take");
  const Value& splits = keys.require("splits");
  if (!splits.is_map()) {
    fail_at(splits.at, "splits must be a map of {}", join(kSplits, ", "));
  }

  Description from{.whole = description, .format = format, .splits = splits, .keys = keys};
  from.fields = field_names(from);
  spec.fields = read_fields(from);
  check_fields(from);
  for (const Value::Entry& entry : splits.map) spec.splits.push_back(read_split(entry, take, from));
  if (spec.splits.empty()) fail_at(splits.at, "splits must name at least one split");
  check_take(take, spec.splits);
  finish(from);
  return spec;
}

}  // namespace meshwork::data
