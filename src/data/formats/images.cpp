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
#include <memory>
#include <optional>

#include "base/error.h"
#include "data/field_spec.h"
#include "data/find_file.h"
#include "data/formats/class_folders.h"
#include "data/image/image_source.h"

namespace meshwork::data {
namespace {

const FileKind kFiles{
    .one = "image",
    .endings = {".png", ".jpg", ".jpeg"},
    .not_read = {".bmp", ".gif"},
    .instead = "images are read from PNG and JPEG files only; convert it, or take it away"};

struct ImagesSpec {
  ClassFolders files;
  std::string images;  ///< of masks, the folder of their images, as written
  ColorMode color = ColorMode::kRgb;
  std::optional<ResizeOptions> resize;
};

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
  const std::string folder =
      find_folder(spec.files.folder, context.directories, spec.files.at, context.hint);
  FolderFiles images = list_files(spec.files, folder, context);
  const ImageSize size = spec.resize ? spec.resize->size : common_size(images.files);
  return make_image_source(folder, std::move(images.files), spec.color, size, spec.resize, context);
}

std::unique_ptr<Source> open_masks(const ImagesSpec& spec, const OpenContext& context) {
  const std::string folder =
      find_folder(spec.files.folder, context.directories, spec.files.at, context.hint);
  const std::string images =
      find_folder(spec.images, context.directories, spec.files.at, context.hint);
  std::vector<std::string> files =
      masks_of(list_files(spec.files, images, context).files, images, folder);
  const ImageSize size = spec.resize ? spec.resize->size : common_size(files);
  std::optional<ResizeOptions> resize = spec.resize;
  if (resize) resize->interpolation = Interpolation::kNearest;
  return make_image_source(folder, std::move(files), ColorMode::kLabels, size, resize, context);
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

/// The folder of the images, whose field is `image`, that the field is the masks of.
std::string images_of(const FieldEntry& entry, const std::string& image) {
  const config::Value& split = folders_of_split(entry);
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
  const std::string part = part_of(entry, entry.field, kFiles);
  std::string images = entry.field;
  if (part == "mask") {
    images = entry.options.find("mask_of")->as_string("mask_of");
    spec.images = images_of(entry, images);
  }
  spec.files = read_class_folders(entry, kFiles, images);
  spec.color = read_color(entry.dataset);
  spec.resize = read_resize(entry.dataset);
  return [spec, part](const OpenContext& context) {
    if (part == "label") return open_labels(spec.files, context);
    return part == "mask" ? open_masks(spec, context) : open_images(spec, context);
  };
}

}  // namespace

const Format kImages{.name = "images", .parse = parse, .takes_files = true};

}  // namespace meshwork::data
