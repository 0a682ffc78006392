#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/file.h"
#include "comm/host_group.h"
#include "state/checkpoint_index.h"

// A checkpoint is a directory: a safetensors file of every device, with what it holds of each
// tensor, and index.json, which says where every slice lies. The index is written last, in one
// step: a directory without it is no checkpoint.
namespace meshwork {

/// The name of the file of a device: "part-00003.safetensors".
std::string part_file(int device);

/// Writes the file of one device, `directory`/`name`: the parts of which it is the owner. They are
/// on the disk when it returns. `tensors` in path order; the result names them by their number.
std::vector<StoredSlice> write_slices(const std::string& directory, const std::string& name,
                                      const std::vector<StoredTensor>& tensors,
                                      const std::vector<TensorPart>& parts);

/// Bytes of the parts of which this device is the owner.
std::int64_t owned_bytes(const std::vector<GlobalTensor>& tensors,
                         const std::vector<TensorPart>& parts);

/// Memory of the host for what parts hold, kept from one copy to the next.
class PartCopies {
 public:
  /// The same parts, copied; where there is another owner, without its data. What was copied here
  /// before is overwritten. Throws std::bad_alloc where there is no memory.
  std::vector<TensorPart> copy(const std::vector<GlobalTensor>& tensors,
                               const std::vector<TensorPart>& parts);

 private:
  std::shared_ptr<std::byte> memory_;
  std::int64_t bytes_ = -1;
};

/// Tensors as an index describes them.
std::vector<StoredTensor> stored_tensors(const std::vector<GlobalTensor>& tensors);

/// Makes a checkpoint of a directory in which all files lie.
void write_index(const std::string& directory, const CheckpointIndex& index);

/// A whole checkpoint. Its files are open only while something is read of them: there may be more
/// of them than a process may have open, and one that is removed must free the disk.
class Checkpoint {
 public:
  /// Throws an Error of ExitCode::kFile where there is none, or its index is damaged.
  explicit Checkpoint(const std::string& directory);

  const std::string& directory() const { return directory_; }
  const CheckpointIndex& index() const { return index_; }

  /// As check_stored_tensors.
  void check_tensors(const std::vector<GlobalTensor>& expected, bool allow_extra = false) const;

  /// Reads one part of a tensor into `to`, dense and row-major, from just the blocks that it needs.
  /// Throws an Error that names the file where one is missing or has another checksum.
  void read(const GlobalTensor& tensor, const Region& region, const Shape& local,
            std::byte* to) const;

  /// Reads all of it, and throws that Error.
  void verify() const;

 private:
  struct Copy;

  /// As copy_blocks, with errors that say how to go on.
  void read_blocks(const StoredSlice& slice, const std::vector<Copy>& copies, std::byte* to) const;
  /// `copies` in the order of the slice, which `stored` holds. Blocks of which nothing is wanted
  /// are not read.
  void copy_blocks(const StoredSlice& slice, const std::vector<Copy>& copies, const File& stored,
                   std::byte* to) const;

  std::string directory_;
  CheckpointIndex index_;
};

/// Bytes of all tensors.
std::int64_t total_bytes(const CheckpointIndex& index);

/// Whether a directory is a whole checkpoint.
bool is_checkpoint(const std::string& directory);

/// Directories of the whole checkpoints in `directory`, the oldest first. One is named
/// step-<steps of the run>, or step-<steps>-<n> where there was one before. What cannot be looked
/// at is left out where `odd` takes its Error, and throws it otherwise.
std::vector<std::string> list_checkpoints(const std::string& directory,
                                          const std::function<void(const Error&)>& odd = {});

/// A name in `directory` for a checkpoint after so many steps that nothing has, and that comes
/// behind all that are there of as many.
std::string new_checkpoint(const std::string& directory, std::int64_t steps);

/// Removes a checkpoint, so that at no moment it is one that is not whole. Throws an Error of
/// ExitCode::kFile where some of it stays.
void remove_checkpoint(const std::string& directory);

/// Removes what of checkpoints in `directory` is no whole one: a run was killed while it wrote.
/// What stays does no harm.
void remove_unfinished(const std::string& directory);

}  // namespace meshwork
