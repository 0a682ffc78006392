#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "base/file.h"
#include "comm/host_group.h"
#include "state/safetensors_header.h"
#include "state/tensor_part.h"

// The safetensors format (huggingface/safetensors): the length of the header in 8 bytes, little
// endian; the header, a JSON map from path to {dtype, shape, data_offsets} with strings under
// "__metadata__"; the data, row-major, without gaps.
namespace meshwork {

/// Writes one file of global tensors, whoever holds which part; every member calls it with the same
/// file, tensors and metadata, and its own parts. No member ever holds more than its parts. To the
/// metadata it adds {format: meshwork, version: 1}.
///
/// `file` appears in one step when all is on the disk, or the old one stays; meanwhile the data
/// lies in "<file>.partial", beside it, which all members must reach. A failure on one member is an
/// Error on all.
void write_safetensors(const std::string& file, const std::vector<GlobalTensor>& tensors,
                       const std::vector<TensorPart>& parts, const Metadata& metadata,
                       HostGroup& hosts);

/// A file open for reading, its header checked. Each device opens it for itself.
class SafetensorsFile {
 public:
  explicit SafetensorsFile(const std::string& file);

  const std::string& name() const { return file_.path(); }
  const std::vector<StoredTensor>& tensors() const { return header_.tensors; }
  const Metadata& metadata() const { return header_.metadata; }

  /// Throws an Error that lists, with the nearest names, all tensors of `expected` that are missing
  /// or of another type, and those of the file that nobody expects, unless `allow_extra`.
  void check_tensors(const std::vector<GlobalTensor>& expected, bool allow_extra = false) const;

  /// Reads just one part of a tensor into `to`, dense and row-major.
  void read(const GlobalTensor& tensor, const Region& region, const Shape& local,
            std::byte* to) const;

 private:
  File file_;
  SafetensorsHeader header_;
};

}  // namespace meshwork
