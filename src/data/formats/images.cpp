// Folders of PNG and JPEG images, a subfolder per class, as
// keras.utils.image_dataset_from_directory reads them:
//
//     format: images
//     splits: {train: train, test: test}    # folders
//     color_mode: rgb                       # grayscale, rgba
//     image_size: [128, 128]                # only needed where images have different sizes
//     interpolation: bilinear               # nearest
//     crop_to_aspect_ratio: false
//     class_names: [cat, dog]               # by default all subfolders, sorted
//
// Field x is the images, y their classes; others say `part: image` or `part: label`. Without a
// field of labels all images below the folder are read, whatever their subfolders.
#include <algorithm>
#include <iterator>
#include <memory>
#include <optional>

#include "base/error.h"
#include "base/names.h"
#include "base/nearest.h"
#include "data/find_file.h"
#include "data/formats/array_source.h"
#include "data/image/folder.h"
#include "data/image/image_source.h"

namespace meshwork::data {
namespace {

struct ImagesSpec {
  std::string folder;  ///< as written
  config::Location at;
  std::vector<std::string> all_folders;  ///< of this field in all splits
  std::vector<std::string> classes;      ///< as written; empty: the subfolders
  config::Location classes_at;
  bool has_labels = true;  ///< some field is the labels
  ColorMode color = ColorMode::kRgb;
  std::optional<ResizeOptions> resize;
};

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

std::vector<std::string> subfolders(const std::string& folder) {
  std::vector<std::string> names = class_names(folder);
  if (!names.empty()) return names;
  fail(ExitCode::kFile,
       "{}: no subfolders, of which there must be one for each class; for images without labels "
       "leave the field y out: splits: {{train: {{x: folder}}}}",
       folder);
}

/// The classes of all splits, which must agree: a class that one of them lacks would give other
/// numbers to those after it. A split that is not there does not count.
std::vector<std::string> common_classes(const ImagesSpec& spec, const std::string& folder,
                                        const OpenContext& context) {
  const std::vector<std::string> mine = subfolders(folder);
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

/// Some may have no images in this folder, where none of its own is left out: a misspelt one is.
void check_classes(const ImagesSpec& spec, const std::string& folder) {
  const std::vector<std::string> known = subfolders(folder);
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
std::vector<std::string> classes_of(const ImagesSpec& spec, const std::string& folder,
                                    const OpenContext& context) {
  if (!spec.has_labels) return {};
  if (spec.classes.empty()) return common_classes(spec, folder, context);
  check_classes(spec, folder);
  return spec.classes;
}

ImageFolder list(const ImagesSpec& spec, const std::string& folder, const OpenContext& context) {
  const std::vector<std::string> classes = classes_of(spec, folder, context);
  return classes.empty() ? list_images(folder) : list_images(folder, classes);
}

/// The size of all images, from their headers.
ImageSize common_size(const std::vector<std::string>& files) {
  std::optional<ImageSize> common;
  for (const std::string& path : files) {
    const MappedFile file(path);
    const ImageSize size = image_size(path, file.bytes());
    if (!common) common = size;
    if (size == *common) continue;
    fail(ExitCode::kFile,
         "{}: {}, but {} is {}; give image_size: [height, width] to make all images alike", path,
         to_string(size), files.front(), to_string(*common));
  }
  return *common;
}

std::unique_ptr<Source> open_images(const ImagesSpec& spec, const OpenContext& context) {
  const std::string folder = find_folder(spec.folder, context.directories, spec.at, context.hint);
  ImageFolder images = list(spec, folder, context);
  const ImageSize size = spec.resize ? spec.resize->size : common_size(images.files);
  return make_image_source(folder, std::move(images.files), spec.color, size, spec.resize, context);
}

std::unique_ptr<Source> open_labels(const ImagesSpec& spec, const OpenContext& context) {
  const std::string folder = find_folder(spec.folder, context.directories, spec.at, context.hint);
  std::vector<std::string> classes = classes_of(spec, folder, context);
  ImageFolder images = list_images(folder, classes);
  SourceInfo info{folder, {static_cast<std::int64_t>(images.labels.size())}, DType::kInt32};
  info.names = {"class_names", std::move(classes)};
  return std::make_unique<LabelSource>(std::move(info), std::move(images.labels));
}

ColorMode read_color(config::Reader& dataset) {
  return dataset.choose(
      "color_mode", ColorMode::kRgb,
      {{"grayscale", ColorMode::kGrayscale}, {"rgb", ColorMode::kRgb}, {"rgba", ColorMode::kRgba}});
}

std::optional<ResizeOptions> read_resize(config::Reader& dataset) {
  ResizeOptions options;
  options.interpolation = read_interpolation(dataset);
  options.crop_to_aspect_ratio = dataset.get("crop_to_aspect_ratio", false);
  const config::Value* value = dataset.find("image_size");
  if (value == nullptr) {
    for (const char* key : {"interpolation", "crop_to_aspect_ratio"}) {
      if (const config::Value* useless = dataset.find(key)) {
        config::fail_at(useless->at, "{} says how images are resized; give image_size, too", key);
      }
    }
    return std::nullopt;
  }
  Shape size = value->as_shape("image_size");
  if (size.size() == 1) size.push_back(size[0]);  // a square, as in Keras
  if (size.size() != 2) config::fail_at(value->at, "image_size must be [height, width]");
  constexpr std::int64_t kMostExtent = 65536;
  for (const std::int64_t extent : size) {
    if (extent >= 1 && extent <= kMostExtent) continue;
    config::fail_at(value->at, "image_size must be between 1 and {}, not {}", kMostExtent, extent);
  }
  options.size = {size[0], size[1]};
  if (size[0] > kMostPixels / size[1]) {
    config::fail_at(value->at, "image_size {} is more than {} pixels", to_string(options.size),
                    kMostPixels);
  }
  return options;
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

/// "image" or "label".
std::string part_of(const std::string& field, const config::Value* given,
                    const config::Location& at) {
  if (given == nullptr && field == names::kFeatures) return "image";
  if (given == nullptr && field == names::kLabels) return "label";
  if (given == nullptr) {
    config::fail_at(at,
                    "field '{}' must say what it is of the images; write {}: {{part: image}}, "
                    "or {{part: label}}",
                    field, field);
  }
  return config::choose<std::string>(*given, "part", {{"image", "image"}, {"label", "label"}});
}

bool is_label(const FieldEntry& entry, const std::string& field) {
  const config::Value::Entry* options = entry.description.find(field);
  const config::Value::Entry* part = options ? options->value.find("part") : nullptr;
  return part_of(field, part ? &part->value : nullptr, entry.value.at) == "label";
}

/// New images, of a split that names no folder for labels, have none.
bool has_labels(const FieldEntry& entry) {
  const config::Value& split = entry.description.find("splits")->value.find(entry.split)->value;
  return std::ranges::any_of(entry.fields, [&](const std::string& field) {
    return is_label(entry, field) && (!split.is_map() || split.find(field) != nullptr);
  });
}

/// The folders of this field in all splits that name one.
std::vector<std::string> folders_of(const FieldEntry& entry) {
  std::vector<std::string> folders;
  for (const config::Value::Entry& split : entry.description.find("splits")->value.map) {
    const config::Value* value = &split.value;
    if (value->is_map()) {
      const config::Value::Entry* field = value->find(entry.field);
      value = field ? &field->value : nullptr;
    }
    if (value != nullptr && value->is_scalar()) folders.push_back(value->scalar);
  }
  return folders;
}

Opener parse(const FieldEntry& entry) {
  ImagesSpec spec;
  const std::string what = name_of(entry);
  spec.folder = entry.value.as_string(what);
  spec.at = entry.value.at;
  if (spec.folder.empty()) config::fail_at(spec.at, "{} must name a folder", what);
  spec.all_folders = folders_of(entry);
  const std::string part = part_of(entry.field, entry.options.find("part"), spec.at);
  spec.has_labels = has_labels(entry);
  spec.color = read_color(entry.dataset);
  spec.resize = read_resize(entry.dataset);
  if (const config::Value* classes = entry.dataset.find("class_names")) {
    spec.classes = read_classes(*classes);
    spec.classes_at = classes->at;
    const auto is_of_labels = [&](const std::string& field) { return is_label(entry, field); };
    if (std::ranges::none_of(entry.fields, is_of_labels)) {
      config::fail_at(classes->at, "class_names are for labels, but no field is the labels");
    }
  }
  return [spec, open = part == "image" ? open_images : open_labels](const OpenContext& context) {
    return open(spec, context);
  };
}

}  // namespace

const Format kImages{.name = "images", .parse = parse};

}  // namespace meshwork::data
