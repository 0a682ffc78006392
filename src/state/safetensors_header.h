#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "state/tensor_part.h"

namespace meshwork {

using Metadata = std::map<std::string, std::string>;

/// A tensor as the header of a file describes it.
struct StoredTensor {
  std::string path;
  std::string dtype;  ///< in the words of the format: "F32", "F64"
  Shape shape;
  std::uint64_t begin = 0;  ///< bytes from the start of the file
  std::uint64_t end = 0;
};

/// "float32[784, 200]"; "F64[784, 200]" where we have no such type.
std::string describe(const StoredTensor& tensor);

/// The format's word for a type: "F32".
std::string_view safetensors_word(DType dtype);

/// Our type of it, if there is one.
std::optional<DType> dtype_of(const StoredTensor& tensor);

struct SafetensorsHeader {
  std::vector<StoredTensor> tensors;  ///< in path order
  Metadata metadata;
};

/// Most bytes of JSON that a header may have, as in the Rust library.
constexpr std::uint64_t kMaxSafetensorsHeader = 100'000'000;

/// Reads the JSON of a header for a file that has `data_bytes` of data from byte `data_begin` on.
/// Whatever is not as the format wants it is an Error of ExitCode::kFile that begins with `file`.
SafetensorsHeader parse_safetensors_header(std::string_view json, std::uint64_t data_begin,
                                           std::uint64_t data_bytes, const std::string& file);

/// What a file of these tensors looks like.
struct SafetensorsPlan {
  std::string head;                    ///< length and JSON: the bytes before the data
  std::vector<std::uint64_t> offsets;  ///< of each tensor, from the start of the file
  std::uint64_t file_bytes = 0;
};

/// Lays out a file: larger elements first, then by path, so that every tensor is aligned.
SafetensorsPlan plan_safetensors(const std::vector<GlobalTensor>& tensors, const Metadata& metadata,
                                 const std::string& file);

}  // namespace meshwork
