#include "job/same_weights.h"

#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <memory>
#include <vector>

#include "base/error.h"
#include "comm/collectively.h"
#include "job/other_ranks.h"
#include "state/checkpoint.h"
#include "state/formats/format.h"
#include "state/stored_tensors.h"

namespace meshwork {
namespace {

constexpr std::int64_t kElements = 16;  ///< that are looked at, at each place of a tensor
constexpr std::int64_t kPlaces = 3;     ///< its beginning, middle and end

/// Adds some elements of a row of a tensor; `place` counts to kPlaces.
void add_elements(const TensorFile& file, const StoredTensor& tensor, std::int64_t place,
                  XXH64_hash_t& hash) {
  Shape local(tensor.shape.size(), 1);
  if (!local.empty()) local.back() = std::min(kElements, tensor.shape.back());
  Region region = whole_region(tensor.shape);
  for (std::size_t d = 0; d < local.size(); ++d) {
    region.offset[d] = place * (tensor.shape[d] - local[d]) / (kPlaces - 1);
  }
  std::vector<std::byte> data(static_cast<std::size_t>(num_elements(local)) *
                              size_of(*dtype_of(tensor)));
  file.read(tensor, region, local, data.data());
  hash = XXH3_64bits_withSeed(data.data(), data.size(), hash);
}

std::string describe_file(const std::string& path) {
  const std::unique_ptr<TensorFile> file = format_of(path).open(path);
  XXH64_hash_t hash = 0;
  for (const StoredTensor& tensor : file->tensors()) {
    const std::string text = fmt::format("{} {}", tensor.path, describe(tensor));
    hash = XXH3_64bits_withSeed(text.data(), text.size(), hash);
    if (!dtype_of(tensor) || num_elements(tensor.shape) == 0) continue;
    for (std::int64_t place = 0; place < kPlaces; ++place) {
      add_elements(*file, tensor, place, hash);
    }
  }
  return fmt::format("{} tensors, fingerprint {:016x}", file->tensors().size(), hash);
}

/// Its index has the checksums of all that it holds.
std::string describe_checkpoint(const std::string& path) {
  const std::string index = to_json(Checkpoint(path).index());
  return fmt::format("checkpoint, fingerprint {:016x}", hash_bytes(index.data(), index.size()));
}

}  // namespace

void check_same_weights(const std::string& path, HostGroup& hosts) {
  if (hosts.size() == 1) return;
  std::string mine;
  collectively(hosts, [&] {
    std::error_code status;
    mine = std::filesystem::is_directory(path, status) ? describe_checkpoint(path)
                                                       : describe_file(path);
  });
  const std::string what = describe_other_ranks(gather_texts(hosts, mine), "other weights");
  if (what.empty()) return;
  fail(ExitCode::kCommunication, "{}: {}; see that all ranks read the same file", path, what);
}

}  // namespace meshwork
