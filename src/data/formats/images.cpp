// Folders of PNG and JPEG images, a subfolder per class, as
// keras.utils.image_dataset_from_directory reads them:
//
//     format: images
//     splits: {train: train, test: test}    # folders; or parts of one, which is then shuffled:
//                                           # files: all, splits: {train: 0.8, test: 0.2}
//     seed: 0                               # of that shuffle
//     color_mode: rgb                       # grayscale, rgba
//     image_size: [128, 128]                # only needed where images have different sizes
//     interpolation: bilinear               # nearest
//     crop_to_aspect_ratio: false
//     class_names: [cat, dog]               # by default all subfolders, sorted
//
// Field x is the images, y their classes; others say `part: image` or `part: label`. Without a
// field of labels all images below the folder are read, whatever their subfolders. A field with
// `mask_of: x` is a folder of PNG images called as those of x, whose pixels are labels.
#include <algorithm>
#include <iterator>
#include <memory>
#include <optional>

#include "base/error.h"
#include "base/names.h"
#include "base/nearest.h"
#include "data/field_spec.h"
#include "data/find_file.h"
#include "data/formats/array_source.h"
#include "data/fractions.h"
#include "data/image/folder.h"
#include "data/image/image_source.h"
#include "data/shuffle.h"

namespace meshwork::data {
namespace {

struct ImagesSpec {
  std::string folder;  ///< as written
  config::Location at;
  std::vector<std::string> all_folders;  ///< of this field in all splits
  std::vector<std::string> classes;      ///< as written; empty: the subfolders
  config::Location classes_at;
  bool has_labels = true;                ///< some field is the labels
  std::string images;                    ///< of masks, the folder of their images, as written
  std::optional<std::uint64_t> shuffle;  ///< seed by which the images are shuffled
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

ImageFolder shuffled(const ImageFolder& images, std::uint64_t seed) {
  std::vector<std::int64_t> order(images.files.size());
  permutation(seed, 0, order);
  ImageFolder result;
  for (const std::int64_t i : order) {
    const auto at = static_cast<std::size_t>(i);
    result.files.push_back(images.files[at]);
    if (!images.labels.empty()) result.labels.push_back(images.labels[at]);
  }
  return result;
}

/// The images of a folder, of these classes if there are any.
ImageFolder list(const ImagesSpec& spec, const std::string& folder,
                 const std::vector<std::string>& classes) {
  ImageFolder images = classes.empty() ? list_images(folder) : list_images(folder, classes);
  return spec.shuffle ? shuffled(images, *spec.shuffle) : images;
}

ImageFolder list(const ImagesSpec& spec, const std::string& folder, const OpenContext& context) {
  return list(spec, folder, classes_of(spec, folder, context));
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

std::unique_ptr<Source> open_masks(const ImagesSpec& spec, const OpenContext& context) {
  const std::string folder = find_folder(spec.folder, context.directories, spec.at, context.hint);
  const std::string images = find_folder(spec.images, context.directories, spec.at, context.hint);
  std::vector<std::string> files = masks_of(list(spec, images, context).files, images, folder);
  const ImageSize size = spec.resize ? spec.resize->size : common_size(files);
  std::optional<ResizeOptions> resize = spec.resize;
  if (resize) resize->interpolation = Interpolation::kNearest;
  return make_image_source(folder, std::move(files), ColorMode::kLabels, size, resize, context);
}

std::unique_ptr<Source> open_labels(const ImagesSpec& spec, const OpenContext& context) {
  const std::string folder = find_folder(spec.folder, context.directories, spec.at, context.hint);
  std::vector<std::string> classes = classes_of(spec, folder, context);
  ImageFolder images = list(spec, folder, classes);
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

/// "image", "label" or "mask".
std::string part_of(const FieldEntry& entry, const std::string& field) {
  const config::Value::Entry* options = entry.description.find(field);
  const auto find = [&](const char* key) {
    const config::Value::Entry* found = options ? options->value.find(key) : nullptr;
    return found == nullptr ? nullptr : &found->value;
  };
  const config::Location& at = entry.value.at;
  const config::Value *const given = find("part"), *const mask = find("mask_of");
  if (given == nullptr && mask != nullptr && mask->is_scalar() && mask->scalar != kNoMask) {
    return "mask";
  }
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
  return part_of(entry, field) == "label";
}

/// What names the folders of the entry's split, or those that all splits are parts of.
const config::Value& folders(const FieldEntry& entry) {
  if (entry.split.empty()) return entry.description.find("files")->value;
  return entry.description.find("splits")->value.find(entry.split)->value;
}

/// New images, of a split that names no folder for labels, have none.
bool has_labels(const FieldEntry& entry) {
  const config::Value& split = folders(entry);
  return std::ranges::any_of(entry.fields, [&](const std::string& field) {
    return is_label(entry, field) && (!split.is_map() || split.find(field) != nullptr);
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

/// The folder of the images, whose field is `image`, that the field is the masks of.
std::string images_of(const FieldEntry& entry, const std::string& image) {
  const config::Value& split = folders(entry);
  const config::Value::Entry* const folder = split.is_map() ? split.find(image) : nullptr;
  if (folder == nullptr) {
    config::fail_at(entry.value.at,
                    "{} are masks of '{}', which has no folder beside them: write {{{}: FOLDER, "
                    "{}: FOLDER}}",
                    name_of(entry), image, image, entry.field);
  }
  return folder->value.as_string(image);
}

Opener parse(const FieldEntry& entry) {
  ImagesSpec spec;
  const std::string what = name_of(entry);
  spec.folder = entry.value.as_string(what);
  spec.at = entry.value.at;
  if (spec.folder.empty()) config::fail_at(spec.at, "{} must name a folder", what);
  const std::string part = part_of(entry, entry.field);
  entry.options.find("part");
  std::string images = entry.field;
  if (part == "mask") {
    images = entry.options.find("mask_of")->as_string("mask_of");
    spec.images = images_of(entry, images);
  }
  spec.all_folders = folders_of(entry, images);
  spec.has_labels = has_labels(entry);
  // Parts of what is in the order of its classes would have classes of their own.
  const auto seed = entry.description.find("files") ? entry.dataset.find("seed") : nullptr;
  const bool is_timeseries = entry.description.find("timeseries") != nullptr;
  if (entry.split.empty() && !is_timeseries) {
    spec.shuffle = seed == nullptr ? 0 : seed->as_unsigned("seed");
  }
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
  const auto open = part == "image" ? open_images : part == "mask" ? open_masks : open_labels;
  return [spec, open](const OpenContext& context) { return open(spec, context); };
}

}  // namespace

const Format kImages{.name = "images", .parse = parse, .takes_files = true};

}  // namespace meshwork::data
