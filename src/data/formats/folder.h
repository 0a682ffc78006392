#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace meshwork::data {

/// The files of a format that has a folder for each class.
struct FileKind {
  std::string_view one;                    ///< "image", for errors
  std::vector<std::string_view> endings;   ///< in small letters, ".png"
  std::vector<std::string_view> not_read;  ///< that Keras reads
  std::string_view instead = {};           ///< what to do with those
};

/// The files of a folder and their classes.
struct FolderFiles {
  std::vector<std::string> files;    ///< paths
  std::vector<std::int32_t> labels;  ///< places in `classes`; empty where there are no classes
};

/// The names of the folders in `folder`, in the order of their bytes, without hidden ones.
std::vector<std::string> class_names(const std::string& folder);

/// The files in the subfolder of each class, if it has one, in this order, and within each as
/// Keras's image_dataset_from_directory and text_dataset_from_directory order them: by their
/// folder, then by their name. All folders below are searched, but not links to folders. Files of
/// other endings are passed over. Throws Error with ExitCode::kFile where there is no file at all,
/// or one of a kind that Keras reads and Meshwork does not.
FolderFiles list_files(const FileKind& kind, const std::string& folder,
                       const std::vector<std::string>& classes);

/// All files of the kind anywhere in the folder.
FolderFiles list_files(const FileKind& kind, const std::string& folder);

/// For each of `images`, which lie in `folder`, the PNG file below `masks` of the same name, in the
/// same subfolder: cats/a.png for cats/a.jpg. Throws Error with ExitCode::kFile where there is
/// none.
std::vector<std::string> masks_of(const std::vector<std::string>& images, const std::string& folder,
                                  const std::string& masks);

}  // namespace meshwork::data
