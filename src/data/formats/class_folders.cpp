#include "data/formats/class_folders.h"

#include <algorithm>
#include <iterator>
#include <memory>

#include "base/error.h"
#include "base/names.h"
#include "base/nearest.h"
#include "data/field_spec.h"
#include "data/find_file.h"
#include "data/fractions.h"
#include "data/shuffle.h"

namespace meshwork::data {
namespace {

class LabelSource : public Source {
 public:
  LabelSource(SourceInfo info, std::vector<std::int32_t> labels)
      : Source(std::move(info)), labels_(std::move(labels)) {}

  bool is_resident() const override { return true; }
  const std::byte* samples() const override {
    return reinterpret_cast<const std::byte*>(labels_.data());
  }

 private:
  void fetch(std::int64_t, std::int64_t, std::byte*) const override {}

  std::vector<std::int32_t> labels_;
};

std::vector<std::string> subfolders(const FileKind& kind, const std::string& folder) {
  std::vector<std::string> names = class_names(folder);
  if (!names.empty()) return names;
  fail(ExitCode::kFile,
       "{}: no subfolders, of which there must be one for each class; for {}s without labels "
       "leave the field y out: splits: {{train: {{x: folder}}}}",
       folder, kind.one);
}

/// The classes of all splits, which must agree: a class that one of them lacks would give other
/// numbers to those after it. A split that is not there does not count.
std::vector<std::string> common_classes(const ClassFolders& spec, const std::string& folder,
                                        const OpenContext& context) {
  const std::vector<std::string> mine = subfolders(spec.kind, folder);
  for (const std::string& other : spec.all_folders) {
    std::string path;
    try {
      path = find_folder(other, context.directories, spec.at, context.hint);
    } catch (const Error&) {
      continue;
    }
    const std::vector<std::string> theirs = class_names(path);
    std::vector<std::string> alone;
    std::set_symmetric_difference(mine.begin(), mine.end(), theirs.begin(), theirs.end(),
                                  std::back_inserter(alone));
    if (alone.empty()) continue;
    const bool is_mine = std::find(mine.begin(), mine.end(), alone[0]) != mine.end();
    fail(ExitCode::kFile,
         "{}: has a subfolder '{}', but {} has none, so that classes would get different numbers; "
         "give class_names: [...]",
         is_mine ? folder : path, alone[0], is_mine ? path : folder);
  }
  return mine;
}

/// Some may have no files in this folder, where none of its own is left out: a misspelt one is.
void check_classes(const ClassFolders& spec, const std::string& folder) {
  const std::vector<std::string> known = subfolders(spec.kind, folder);
  const auto are_in = [](const auto& some, const auto& all) {
    return std::ranges::all_of(
        some, [&](const std::string& name) { return std::ranges::count(all, name) > 0; });
  };
  if (are_in(known, spec.classes)) return;
  for (const std::string& name : spec.classes) {
    if (std::find(known.begin(), known.end(), name) != known.end()) continue;
    fail(ExitCode::kFile, "{}: class_names: no subfolder '{}' in {}{}",
         config::to_string(spec.classes_at), name, folder, suggestion(name, known));
  }
}

/// Empty where no field is the labels.
std::vector<std::string> classes_of(const ClassFolders& spec, const std::string& folder,
                                    const OpenContext& context) {
  if (!spec.has_labels) return {};
  if (spec.classes.empty()) return common_classes(spec, folder, context);
  check_classes(spec, folder);
  return spec.classes;
}

FolderFiles shuffled(const FolderFiles& found, std::uint64_t seed) {
  std::vector<std::int64_t> order(found.files.size());
  permutation(seed, 0, order);
  FolderFiles result;
  for (const std::int64_t i : order) {
    const auto at = static_cast<std::size_t>(i);
    result.files.push_back(found.files[at]);
    if (!found.labels.empty()) result.labels.push_back(found.labels[at]);
  }
  return result;
}

std::vector<std::string> read_classes(const config::Value& value) {
  if (!value.is_list() || value.list.empty()) {
    config::fail_at(value.at, "class_names must be a list of subfolders");
  }
  std::vector<std::string> names;
  for (const config::Value& item : value.list) {
    names.push_back(item.as_string("class_names"));
    if (std::count(names.begin(), names.end(), names.back()) > 1) {
      config::fail_at(item.at, "class_names has '{}' twice", names.back());
    }
  }
  return names;
}

bool is_label(const FieldEntry& entry, const std::string& field, const FileKind& kind) {
  return part_of(entry, field, kind) == "label";
}

/// New files, of a split that names no folder for labels, have none.
bool has_labels(const FieldEntry& entry, const FileKind& kind) {
  const config::Value& split = folders_of_split(entry);
  return std::ranges::any_of(entry.fields, [&](const std::string& field) {
    return is_label(entry, field, kind) && (!split.is_map() || split.find(field) != nullptr);
  });
}

/// The folders of a field, in `files` and in all splits that name one.
std::vector<std::string> folders_of(const FieldEntry& entry, const std::string& name) {
  std::vector<std::string> folders;
  const auto add = [&](const config::Value& split) {
    const config::Value::Entry* field = split.is_map() ? split.find(name) : nullptr;
    const config::Value& value = field ? field->value : split;
    if (value.is_scalar()) folders.push_back(value.scalar);
  };
  const config::Value::Entry* const found = entry.description.find("files");
  const config::Value* const files = found == nullptr ? nullptr : &found->value;
  if (files != nullptr) add(*files);
  for (const config::Value::Entry& split : entry.description.find("splits")->value.map) {
    if (!is_part(split, files)) add(split.value);
  }
  return folders;
}

FolderFiles list_files(const ClassFolders& spec, const std::string& folder,
                       const std::vector<std::string>& classes) {
  FolderFiles found =
      classes.empty() ? list_files(spec.kind, folder) : list_files(spec.kind, folder, classes);
  return spec.shuffle ? shuffled(found, *spec.shuffle) : found;
}

void read_class_names(const FieldEntry& entry, ClassFolders& spec) {
  const config::Value* const classes = entry.dataset.find("class_names");
  if (classes == nullptr) return;
  spec.classes = read_classes(*classes);
  spec.classes_at = classes->at;
  const auto is_of_labels = [&](const std::string& field) {
    return is_label(entry, field, spec.kind);
  };
  if (std::ranges::none_of(entry.fields, is_of_labels)) {
    config::fail_at(classes->at, "class_names are for labels, but no field is the labels");
  }
}

}  // namespace

std::string part_of(const FieldEntry& entry, const std::string& field, const FileKind& kind) {
  const config::Value::Entry* options = entry.description.find(field);
  const auto find = [&](const char* key) {
    const config::Value::Entry* found = options ? options->value.find(key) : nullptr;
    return found == nullptr ? nullptr : &found->value;
  };
  const std::string one(kind.one);
  const config::Value *const part = find("part"), *const mask = find("mask_of");
  if (part != nullptr) {
    return config::choose<std::string>(*part, "part", {{one, one}, {"label", "label"}});
  }
  if (mask != nullptr && mask->is_scalar() && mask->scalar != kNoMask) return "mask";
  if (field == names::kFeatures) return one;
  if (field == names::kLabels) return "label";
  config::fail_at(entry.value.at,
                  "field '{0}' must say what it is of the {1}s; write {0}: {{part: {1}}}, or "
                  "{{part: label}}",
                  field, one);
}

const config::Value& folders_of_split(const FieldEntry& entry) {
  if (entry.split.empty()) return entry.description.find("files")->value;
  return entry.description.find("splits")->value.find(entry.split)->value;
}

ClassFolders read_class_folders(const FieldEntry& entry, const FileKind& kind,
                                const std::string& files) {
  ClassFolders spec;
  spec.kind = kind;
  const std::string what = name_of(entry);
  spec.folder = entry.value.as_string(what);
  spec.at = entry.value.at;
  if (spec.folder.empty()) config::fail_at(spec.at, "{} must name a folder", what);
  entry.options.find("part");
  spec.all_folders = folders_of(entry, files);
  spec.has_labels = has_labels(entry, kind);
  // Parts of what is in the order of its classes would have classes of their own.
  const auto seed = entry.description.find("files") ? entry.dataset.find("seed") : nullptr;
  const bool is_timeseries = entry.description.find("timeseries") != nullptr;
  if (entry.split.empty() && !is_timeseries) {
    spec.shuffle = seed == nullptr ? 0 : seed->as_unsigned("seed");
  }
  read_class_names(entry, spec);
  return spec;
}

FolderFiles list_files(const ClassFolders& spec, const std::string& folder,
                       const OpenContext& context) {
  return list_files(spec, folder, classes_of(spec, folder, context));
}

std::unique_ptr<Source> open_labels(const ClassFolders& spec, const OpenContext& context) {
  const std::string folder = find_folder(spec.folder, context.directories, spec.at, context.hint);
  std::vector<std::string> classes = classes_of(spec, folder, context);
  FolderFiles found = list_files(spec, folder, classes);
  SourceInfo info{folder, {static_cast<std::int64_t>(found.labels.size())}, DType::kInt32};
  info.names = {"class_names", std::move(classes)};
  return std::make_unique<LabelSource>(std::move(info), std::move(found.labels));
}

}  // namespace meshwork::data
