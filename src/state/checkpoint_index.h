#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "state/safetensors_header.h"
#include "state/tensor_part.h"

namespace meshwork {

/// Bytes of a slice that one checksum stands for.
constexpr std::int64_t kHashedBytes = std::int64_t{1} << 20U;

/// XXH3 (64 bits) of some bytes.
std::uint64_t hash_bytes(const void* data, std::size_t bytes);

/// A block of a global tensor, which lies dense and row-major in one file of a checkpoint.
struct StoredSlice {
  std::size_t tensor = 0;  ///< in the list of the index
  Region region;
  Shape shape;
  std::string file;                   ///< its name in the directory of the checkpoint
  std::uint64_t offset = 0;           ///< bytes from the start of the file
  std::vector<std::uint64_t> hashes;  ///< of every kHashedBytes; the last may stand for fewer
};

/// Bytes of a slice of this tensor.
std::int64_t bytes_of(const StoredSlice& slice, const StoredTensor& tensor);

/// What a checkpoint is made of: the text of its index.json.
struct CheckpointIndex {
  std::vector<StoredTensor> tensors;  ///< in path order; where they lie, `slices` say
  std::vector<StoredSlice> slices;    ///< every element of every tensor lies in just one
  Metadata metadata;
  std::string state;   ///< JSON: where the run stands beside its tensors
  std::string config;  ///< YAML
};

std::string to_json(const CheckpointIndex& index);

/// The index is of a later version of the format than this program knows.
class NewerIndexError : public Error {
 public:
  explicit NewerIndexError(const std::string& message) : Error(ExitCode::kFile, message) {}
};

/// Throws an Error of ExitCode::kFile, which begins with `file`, for whatever is not as to_json
/// writes it: also slices that leave their tensor, leave some of it out, or hold some of it twice.
CheckpointIndex parse_checkpoint_index(std::string_view json, const std::string& file);

/// Slices alone, as one member tells another of those in its file.
std::string slices_to_json(const std::vector<StoredSlice>& slices);
std::vector<StoredSlice> parse_slices(std::string_view json,
                                      const std::vector<StoredTensor>& tensors,
                                      const std::string& file);

}  // namespace meshwork
