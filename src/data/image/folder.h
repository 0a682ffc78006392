#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace meshwork::data {

/// The images of a folder and their classes.
struct ImageFolder {
  std::vector<std::string> files;    ///< paths
  std::vector<std::int32_t> labels;  ///< places in `classes`; empty where there are no classes
};

/// The names of the folders in `folder`, in the order of their bytes, without hidden ones.
std::vector<std::string> class_names(const std::string& folder);

/// The images in the subfolder of each class, if it has one, in this order, and within each as
/// keras.utils.image_dataset_from_directory orders them: by their folder, then by their name. All
/// folders below are searched, but not links to folders. Files that end in none of .png, .jpg and
/// .jpeg are passed over. Throws Error with ExitCode::kFile where there is no image at all, or one
/// of a kind that Keras reads and Meshwork does not (.bmp, .gif).
ImageFolder list_images(const std::string& folder, const std::vector<std::string>& classes);

/// All images anywhere in the folder.
ImageFolder list_images(const std::string& folder);

/// For each of `images`, which lie in `folder`, the PNG file below `masks` of the same name, in the
/// same subfolder: cats/a.png for cats/a.jpg. Throws Error with ExitCode::kFile where there is
/// none.
std::vector<std::string> masks_of(const std::vector<std::string>& images, const std::string& folder,
                                  const std::string& masks);

}  // namespace meshwork::data
