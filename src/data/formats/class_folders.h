#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "data/formats/folder.h"
#include "data/formats/source.h"

/// What formats of folders, with a subfolder for each class, have in common. Field x is the files,
/// y their classes; others say `part`. Splits may be parts of one folder, whose files are then
/// shuffled by `seed`. Without a field of labels all files below the folder are read, whatever
/// their subfolders.
namespace meshwork::data {

/// What the description says of a field.
struct ClassFolders {
  FileKind kind;
  std::string folder;  ///< as written
  config::Location at;
  std::vector<std::string> all_folders;  ///< of this field in all splits
  std::vector<std::string> classes;      ///< as written; empty: the subfolders
  config::Location classes_at;
  bool has_labels = true;                ///< some field is the labels
  std::optional<std::uint64_t> shuffle;  ///< seed by which the files are shuffled
};

/// `kind.one`, "label", or "mask" of a field with `mask_of`.
std::string part_of(const FieldEntry& entry, const std::string& field, const FileKind& kind);

/// Reads the folder of the entry and the keys `part`, `seed` and `class_names`. `files`: the field
/// whose files are meant, that of the entry or the images of masks.
ClassFolders read_class_folders(const FieldEntry& entry, const FileKind& kind,
                                const std::string& files);

/// What names the folders of the entry's split, or those that all splits are parts of.
const config::Value& folders_of_split(const FieldEntry& entry);

/// The files below a folder, of all splits' classes if there are labels.
FolderFiles list_files(const ClassFolders& spec, const std::string& folder,
                       const OpenContext& context);

/// The classes of the files, int32 [n].
std::unique_ptr<Source> open_labels(const ClassFolders& spec, const OpenContext& context);

}  // namespace meshwork::data
