#include "data/description.h"

#include <algorithm>
#include <array>
#include <memory>

#include "base/join.h"
#include "base/names.h"
#include "base/nearest.h"
#include "base/quote.h"
#include "config/named_file.h"
#include "data/image_masks.h"

namespace meshwork::data {
namespace {

using config::fail_at;
using config::Reader;
using config::Value;

constexpr std::array<std::string_view, 3> kSplits{"train", "validation", "test"};
constexpr std::array<std::string_view, 27> kReserved{
    "name",       "format",      "directories", "splits",        "take",
    "hint",       "cache",       "seed",        "header",        "delimiter",
    "color_mode", "image_size",  "class_names", "interpolation", "crop_to_aspect_ratio",
    "files",      "context",     "stride",      "unit",          "vocabulary",
    "dtype",      "mask_tokens", "tokenizer",   "documents",     "timeseries",
    "mix",        "folder"};

/// The key whose files hold all splits.
constexpr std::string_view kFiles = "files";

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
  const std::string what = split.key == kFiles ? "files" : "split '" + split.key + "'";
  return [at = split.value.at, what, field](const OpenContext&) -> std::unique_ptr<Source> {
    fail_at(at, "{} has no field '{}'", what, field);
  };
}

void check_name(const Value::Entry& split) {
  if (std::find(kSplits.begin(), kSplits.end(), split.key) != kSplits.end()) return;
  fail_at(split.at, "unknown split '{}'{}", split.key,
          suggestion(split.key, {kSplits.begin(), kSplits.end()}));
}

void check_fields_of(const Value::Entry& split, const std::vector<std::string>& fields) {
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
  const Value& sources;  ///< splits that have files of their own, and the key `files`
  Reader& keys;
  std::vector<std::string> fields = {};  ///< their names
  std::vector<Reader> options = {};      ///< the keys of each field
  std::shared_ptr<void> kept = {};       ///< what the format keeps for all entries
};

std::vector<std::string> field_names(const Description& from) {
  std::vector<std::string> names = fields_of_splits(from.sources);
  if (from.format.gives_tokens && from.whole.find("documents") != nullptr) {
    names.insert(names.end(), {names::kSegments, names::kPositions});
  }
  // A file of all fields has weights where the description says which they are.
  const bool has_files_of_all = std::ranges::any_of(
      from.sources.map, [](const Value::Entry& split) { return !split.value.is_map(); });
  const bool has_weights = std::ranges::count(names, names::kSampleWeight) > 0;
  const Value* const weights = from.keys.find(names::kSampleWeight);
  if (has_files_of_all && !has_weights && weights != nullptr) {
    names.emplace_back(names::kSampleWeight);
  }
  // Labels that are described, though no split that is left has any.
  const bool has_labels = std::find(names.begin(), names.end(), names::kLabels) != names.end();
  if (!has_labels && from.whole.find(names::kLabels) != nullptr) names.emplace_back(names::kLabels);
  return names;
}

/// A file that is given for all fields holds x and y; others have files of their own.
void refuse_columns(const Description& from) {
  const auto of_all = std::ranges::find_if(
      from.sources.map, [](const Value::Entry& split) { return !split.value.is_map(); });
  if (of_all == from.sources.map.end()) return;
  for (const Value::Entry& entry : from.whole.map) {
    const bool is_field = entry.value.is_map() && entry.value.find("columns") != nullptr;
    if (!is_field || std::ranges::count(from.fields, entry.key) > 0) continue;
    const bool is_reserved = std::ranges::count(kReserved, entry.key) > 0;
    if (is_reserved) continue;
    const std::string file =
        of_all->value.is_scalar() ? excerpt(of_all->value.scalar) : std::string("FILE");
    const std::string map = fmt::format("{}: {{{}: {}, ..}}", of_all->key, entry.key, file);
    const std::string example = of_all->key == kFiles ? map : fmt::format("splits: {{{}}}", map);
    fail_at(entry.at,
            "dataset: no file is named for the field '{}', and one file for all fields holds x "
            "and y; name the file for each field: {}",
            entry.key, example);
  }
}

std::vector<FieldSpec> read_fields(Description& from) {
  const std::optional<TokenMask> mask = read_mask(from.keys.find("mask_tokens"));
  Value none;
  none.at = from.sources.at;
  std::vector<FieldSpec> fields;
  for (const std::string& name : from.fields) {
    const Value* value = from.keys.find(name);
    from.options.emplace_back(value == nullptr ? none : *value, "field '" + name + "'");
    FieldSpec& field = fields.emplace_back(read_field(name, from.options.back()));
    if (!names::is_of_documents(name)) field.mask = mask;
    if (field.mask) field.mask->is_label = name == names::kLabels;
  }
  link_masks(fields);
  return fields;
}

/// A field that has no key of its own must have a value in a split.
void check_fields(const Description& from) {
  if (from.sources.map.empty()) return;
  for (const std::string& name : from.fields) {
    if (from.whole.find(name) != nullptr || some_split_has(from.sources, name)) continue;
    fail_at(from.sources.at, "no split has a value for field '{}'; name its file", name);
  }
}

/// How the fields of an entry of `splits`, or of `files`, are opened.
std::vector<Opener> read_openers(const Value::Entry& entry, Description& from) {
  check_fields_of(entry, from.fields);
  std::vector<Opener> openers;
  for (std::size_t i = 0; i < from.fields.size(); ++i) {
    const std::string& field = from.fields[i];
    const Value* value = field_value(entry, field);
    openers.push_back(value == nullptr
                          ? no_field(entry, field)
                          : from.format.parse({.split = entry.key == kFiles ? "" : entry.key,
                                               .field = field,
                                               .value = *value,
                                               .fields = from.fields,
                                               .description = from.whole,
                                               .dataset = from.keys,
                                               .options = from.options[i],
                                               .kept = from.kept}));
  }
  return openers;
}

/// A fraction has no meaning where there are no files for all splits.
void check_is_file(const Value::Entry& split, const Format& format) {
  const Value& value = split.value;
  if (!format.takes_files || !value.is_real() || value.is_integer()) return;
  fail_at(value.at, "splits.{} is a part of `files`, but there are none; name them, `files: ..`",
          split.key);
}

/// What stands in files: `files`, if they are, and the splits that are no parts of these.
Value read_sources(const Value& splits, const Value* files) {
  Value sources;
  sources.at = splits.at;
  if (files != nullptr) sources.insert(kFiles, files->at).value = *files;
  for (const Value::Entry& split : splits.map) {
    check_name(split);
    if (!is_part(split, files)) sources.insert(split.key, split.at).value = split.value;
  }
  return sources;
}

std::vector<SplitSpec> read_splits(const Value& splits, const Value* files, Description& from) {
  const Value* take = from.keys.find("take");
  std::vector<Opener> of_files;
  if (files != nullptr) of_files = read_openers(from.sources.map.front(), from);
  std::vector<SplitSpec> specs;
  double end = 0;  // of the last part
  for (const Value::Entry& entry : splits.map) {
    SplitSpec split{.name = entry.key,
                    .openers = {},
                    .part = {},
                    .take = read_take(take, entry.key),
                    .at = entry.at};
    if (is_part(entry, files)) {
      split.part = read_fraction(entry, end);
      split.openers = of_files;
      end = split.part->end;
    } else {
      check_is_file(entry, from.format);
      split.openers = read_openers(entry, from);
    }
    specs.push_back(std::move(split));
  }
  if (specs.empty()) fail_at(splits.at, "splits must name at least one split");
  if (files != nullptr && end == 0) {
    fail_at(files->at, "no split is a part of `files`; write splits: {{train: 0.9, test: 0.1}}");
  }
  check_take(take, specs);
  return specs;
}

std::optional<TimeSeries> timeseries_of(const Description& from,
                                        const std::vector<FieldSpec>& fields) {
  const Value* value = from.keys.find("timeseries");
  if (value == nullptr) return std::nullopt;
  if (from.format.gives_tokens) {
    fail_at(value->at, "timeseries: windows of tokens are cut by context and stride");
  }
  for (const FieldSpec& field : fields) {
    if (field.augment.empty()) continue;
    fail_at(field.at, "field '{}': augment is for images, not for a timeseries", field.name);
  }
  return read_timeseries(*value, from.fields);
}

FieldSpec* find_field(std::vector<FieldSpec>& fields, std::string_view name) {
  const auto found = std::ranges::find(fields, name, &FieldSpec::name);
  return found == fields.end() ? nullptr : &*found;
}

/// What is mixed must be numbers, and labels such that a sample may have parts of two.
std::optional<MixSpec> mix_of(const Description& from, DatasetSpec& spec) {
  const Value* value = from.keys.find("mix");
  if (value == nullptr) return std::nullopt;
  FieldSpec* const samples = find_field(spec.fields, names::kFeatures);
  FieldSpec* const labels = find_field(spec.fields, names::kLabels);
  if (samples == nullptr || labels == nullptr) {
    fail_at(value->at, "mix: needs the fields '{}' and '{}'", names::kFeatures, names::kLabels);
  }
  if (from.format.gives_tokens || spec.timeseries || samples->dtype == DType::kInt32) {
    fail_at(value->at, "mix: is for images and other samples of numbers, not for {}",
            spec.timeseries ? "a timeseries" : "whole numbers");
  }
  if (labels->is_mask()) {
    fail_at(value->at, "mix: is for labels of samples, but '{}' has one for each pixel of '{}'",
            names::kLabels, labels->mask_of->field);
  }
  if (labels->one_hot == 0) {
    fail_at(value->at,
            "mix: a sample gets parts of two labels; give '{}' one_hot: CLASSES, and the model a "
            "loss that takes such, as CategoricalCrossentropy",
            names::kLabels);
  }
  labels->dtype = DType::kFloat32;
  return MixSpec{read_mix(*value), value->at};
}

/// Finds unknown keys. Of a field that no split has the format has not asked for any.
void finish(const Description& from) {
  for (std::size_t i = 0; i < from.fields.size(); ++i) {
    if (some_split_has(from.sources, from.fields[i])) from.options[i].finish();
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
  spec.folder = keys.get("folder", config::folder_of(description.at.file));
  spec.directories = read_directories(keys);
  spec.hint = keys.get("hint", "");
  if (const Value* cache = keys.find("cache")) spec.cache = cache->as_bool("cache");
  const Value& splits = keys.require("splits");
  if (!splits.is_map()) {
    fail_at(splits.at, "splits must be a map of {}", join(kSplits, ", "));
  }
  const Value* files = format.takes_files ? keys.find(kFiles) : nullptr;
  const Value sources = read_sources(splits, files);

  Description from{.whole = description, .format = format, .sources = sources, .keys = keys};
  from.fields = field_names(from);
  refuse_columns(from);
  spec.fields = read_fields(from);
  check_fields(from);
  spec.splits = read_splits(splits, files, from);
  spec.timeseries = timeseries_of(from, spec.fields);
  spec.mix = mix_of(from, spec);
  finish(from);
  return spec;
}

}  // namespace meshwork::data
