#include <algorithm>

#include "base/check.h"
#include "base/error.h"
#include "base/file.h"
#include "base/join.h"
#include "state/formats/format.h"

namespace meshwork {

const std::vector<const Format*>& weight_formats() {
  static const std::vector<const Format*> registry = {
      &formats::kHdf5,
      &formats::kKeras,  // before npz, which takes every zip archive
      &formats::kNpz,   &formats::kSafetensors, &formats::kSafetensorsIndex,
  };
  return registry;
}

const Format* find_format(std::string_view word) {
  for (const Format* format : weight_formats()) {
    if (format->name == word) return format;
    for (const std::string_view suffix : format->suffixes) {
      if (suffix.substr(1) == word) return format;
    }
  }
  return nullptr;
}

const Format* format_by_suffix(std::string_view file) {
  for (const Format* format : weight_formats()) {
    for (const std::string_view suffix : format->suffixes) {
      if (file.ends_with(suffix)) return format;
    }
  }
  return nullptr;
}

const Format& format_of(const std::string& file) {
  constexpr std::uint64_t kHead = 16;
  const File opened = File::open(file);
  std::string head(std::min(opened.size(), kHead), '\0');
  opened.read_at(head.data(), head.size(), 0);
  for (const Format* format : weight_formats()) {
    if (format->recognizes(file, head)) return *format;
  }
  // Its reader says what is wrong.
  if (const Format* format = format_by_suffix(file)) return *format;
  std::vector<std::string_view> known;
  for (const Format* format : weight_formats()) {
    known.insert(known.end(), format->suffixes.begin(), format->suffixes.end());
  }
  fail(ExitCode::kFile, "{}: not a file of weights; known: {}", file, join(known, ", "));
}

std::string stored_dtype(DType dtype) {
  switch (dtype) {
    case DType::kFloat32:
    case DType::kInt32:
    case DType::kInt64:
    case DType::kUInt8:
      return std::string(safetensors_word(dtype));
    default:
      return std::string(to_string(dtype));
  }
}

std::size_t bytes_of(const GlobalTensor& tensor) {
  return static_cast<std::size_t>(num_elements(tensor.shape)) * size_of(tensor.dtype);
}

void TensorFile::set_tensors(std::vector<StoredTensor> tensors) {
  tensors_ = std::move(tensors);
  const auto before = [](const StoredTensor& a, const StoredTensor& b) { return a.path < b.path; };
  std::sort(tensors_.begin(), tensors_.end(), before);
  for (std::size_t i = 1; i < tensors_.size(); ++i) {
    if (tensors_[i - 1].path != tensors_[i].path) continue;
    fail(ExitCode::kFile, "{}: has '{}' twice", name(), tensors_[i].path);
  }
}

}  // namespace meshwork
