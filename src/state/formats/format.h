#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "state/safetensors_header.h"
#include "state/tensor_part.h"

// Formats of files of weights. Each is one file in this folder and one line in registry.cpp.
namespace meshwork {

/// A file of named tensors, open for reading. Each device opens it for itself.
class TensorFile {
 public:
  explicit TensorFile(std::string name) : name_(std::move(name)) {}
  TensorFile(const TensorFile&) = delete;
  TensorFile& operator=(const TensorFile&) = delete;
  virtual ~TensorFile() = default;

  const std::string& name() const { return name_; }
  /// In path order.
  const std::vector<StoredTensor>& tensors() const { return tensors_; }
  /// What groups of tensors are called: of Keras's files the layers, "layers/dense" -> "logits".
  const std::map<std::string, std::string>& names() const { return names_; }

  /// Reads one part of a tensor of the list, whose dtype must be ours, into `to`, dense and
  /// row-major. The host needs memory for this part and 1 MiB; what a format cannot skip is read
  /// past.
  virtual void read(const StoredTensor& tensor, const Region& region, const Shape& local,
                    std::byte* to) const = 0;

 protected:
  /// Takes tensors in any order; paths must differ.
  void set_tensors(std::vector<StoredTensor> tensors);

  std::map<std::string, std::string> names_;

 private:
  std::string name_;
  std::vector<StoredTensor> tensors_;
};

/// What is to be written. Never more than one tensor is asked for at a time.
struct TensorsToWrite {
  std::vector<GlobalTensor> tensors;
  std::function<void(std::size_t tensor, std::byte* to)> read;  ///< all of it, row-major
  std::map<std::string, std::string> names = {};                ///< as TensorFile::names()
  std::string model = {};  ///< what Keras's config.json says, for a format with has_model
};

/// StoredTensor::dtype of a type that programs compute with, or of another one that data have.
std::string stored_dtype(DType dtype);

/// Bytes of a whole tensor.
std::size_t bytes_of(const GlobalTensor& tensor);

/// By what names a file knows variables.
enum class Naming {
  kPaths,  ///< by their paths: "d1/kernel"
  kKeras,  ///< by their places among the layers: "layers/dense/vars/0" (keras_names.h)
};

/// One format, in the list of registry.cpp.
struct Format {
  std::string_view name;                   ///< as --format takes it
  std::vector<std::string_view> suffixes;  ///< of names of files
  Naming naming = Naming::kPaths;
  /// Whether a file that begins so is of this format.
  bool (*recognizes)(const std::string& file, std::string_view head);
  /// Throws an Error of ExitCode::kFile for whatever is wrong with the file.
  std::unique_ptr<TensorFile> (*open)(const std::string& file);
  /// The file appears in one step, when all of it is on the disk, or the old one stays. nullptr: it
  /// is read alone.
  void (*write)(const std::string& file, const TensorsToWrite& what);
  bool has_model = false;  ///< what is written also says what the model computes
};

const std::vector<const Format*>& weight_formats();

/// The format of a file: by its content, else by its name. An Error if it is none of them.
const Format& format_of(const std::string& file);

/// "weights.h5" -> the format by that name or suffix; nullptr if there is none.
const Format* find_format(std::string_view word);
/// The format in which a file of this name is written; nullptr if the name does not say.
const Format* format_by_suffix(std::string_view file);

namespace formats {
extern const Format kHdf5;
extern const Format kKeras;
extern const Format kNpz;
extern const Format kSafetensors;
extern const Format kSafetensorsIndex;
}  // namespace formats

}  // namespace meshwork
