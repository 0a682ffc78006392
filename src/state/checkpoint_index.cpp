#include "state/checkpoint_index.h"

#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/fitting_product.h"
#include "base/json.h"
#include "base/quote.h"
#include "state/json_integer.h"

namespace meshwork {
namespace {

using Json = nlohmann::json;

constexpr const char* kFormat = "meshwork checkpoint";
constexpr int kVersion = 1;
constexpr const char* kChecksum = "xxh3";
constexpr const char* kNoIndex = "not a good index of a checkpoint";
constexpr std::size_t kMaxSlices = 1U << 14U;  // of a tensor, each compared with all others

constexpr std::size_t kLongestReason = 1000;  // it quotes what stands in the file

template <class... Args>
[[noreturn]] void refuse(const std::string& file, fmt::format_string<Args...> format,
                         Args&&... args) {
  fail(ExitCode::kFile, "{}: {}: {}", file, kNoIndex,
       shortened(fmt::format(format, std::forward<Args>(args)...), kLongestReason));
}

Json slice_to_json(const StoredSlice& slice) {
  std::vector<std::string> hashes;
  for (const std::uint64_t hash : slice.hashes) hashes.push_back(fmt::format("{:016x}", hash));
  return {{"tensor", slice.tensor}, {"begin", slice.region.offset}, {"shape", slice.shape},
          {"file", slice.file},     {"offset", slice.offset},       {"xxh3", hashes}};
}

Shape shape_of(const Json& json) {
  Shape shape;
  for (const Json& extent : json.get_ref<const Json::array_t&>()) {
    shape.push_back(integer_of(extent));
  }
  return shape;
}

std::uint64_t read_hash(const std::string& text, const std::string& file) {
  std::uint64_t hash = 0;
  const char* end = text.data() + text.size();
  if (std::from_chars(text.data(), end, hash, 16).ptr != end || text.empty()) {
    refuse(file, "'{}' is no checksum", text);
  }
  return hash;
}

void check_shape(const Shape& shape, const std::string& path, const std::string& file) {
  if (!fitting_product(shape, sizeof(double))) {
    refuse(file, "'{}' has the shape {}", path, to_string(shape));
  }
}

void check_slice(const StoredSlice& slice, const StoredTensor& tensor, const std::string& file) {
  const Shape& begin = slice.region.offset;
  const bool has_rank =
      begin.size() == tensor.shape.size() && slice.shape.size() == tensor.shape.size();
  bool is_inside = has_rank;
  for (std::size_t d = 0; is_inside && d < begin.size(); ++d) {
    is_inside = begin[d] >= 0 && slice.shape[d] >= 0 && begin[d] <= tensor.shape[d] &&
                slice.shape[d] <= tensor.shape[d] - begin[d];
  }
  if (!is_inside) {
    refuse(file, "a slice of '{}' is {} at {}, the tensor {}", tensor.path, to_string(slice.shape),
           to_string(begin), to_string(tensor.shape));
  }
  if (slice.file.empty() || slice.file.find('/') != std::string::npos || slice.file[0] == '.') {
    refuse(file, "'{}' is no name of a file in the directory", slice.file);
  }
  const std::int64_t bytes = bytes_of(slice, tensor);
  const auto hashes = static_cast<std::int64_t>(slice.hashes.size());
  if (hashes != (bytes + kHashedBytes - 1) / kHashedBytes) {
    refuse(file, "a slice of '{}' has {} bytes and {} checksums", tensor.path, bytes, hashes);
  }
  if (slice.offset > static_cast<std::uint64_t>(INT64_MAX - bytes)) {
    refuse(file, "a slice of '{}' begins at byte {}", tensor.path, slice.offset);
  }
}

StoredSlice read_slice(const Json& json, const std::vector<StoredTensor>& tensors,
                       const std::string& file) {
  StoredSlice slice;
  slice.tensor = unsigned_of(json.at("tensor"));
  if (slice.tensor >= tensors.size()) {
    refuse(file, "a slice of tensor {} of {}", slice.tensor, tensors.size());
  }
  slice.region.global = tensors[slice.tensor].shape;
  slice.region.offset = shape_of(json.at("begin"));
  slice.shape = shape_of(json.at("shape"));
  slice.file = json.at("file").get<std::string>();
  slice.offset = unsigned_of(json.at("offset"));
  for (const Json& hash : json.at("xxh3")) {
    slice.hashes.push_back(read_hash(hash.get<std::string>(), file));
  }
  check_slice(slice, tensors[slice.tensor], file);
  return slice;
}

StoredTensor read_tensor(const Json& json, const std::string& file) {
  StoredTensor tensor;
  tensor.path = json.at("path").get<std::string>();
  tensor.dtype = json.at("dtype").get<std::string>();
  tensor.shape = shape_of(json.at("shape"));
  if (!dtype_of(tensor)) refuse(file, "'{}' has the type '{}'", tensor.path, tensor.dtype);
  check_shape(tensor.shape, tensor.path, file);
  return tensor;
}

bool overlap(const StoredSlice& a, const StoredSlice& b) {
  for (std::size_t d = 0; d < a.shape.size(); ++d) {
    const std::int64_t begin = std::max(a.region.offset[d], b.region.offset[d]);
    const std::int64_t end =
        std::min(a.region.offset[d] + a.shape[d], b.region.offset[d] + b.shape[d]);
    if (begin >= end) return false;
  }
  return true;
}

/// The slices of a tensor hold each of its elements once.
void check_coverage(const CheckpointIndex& index, const std::string& file) {
  std::vector<std::vector<const StoredSlice*>> slices(index.tensors.size());
  for (const StoredSlice& slice : index.slices) slices[slice.tensor].push_back(&slice);
  for (std::size_t i = 0; i < slices.size(); ++i) {
    const StoredTensor& tensor = index.tensors[i];
    if (slices[i].size() > kMaxSlices) {
      refuse(file, "'{}' has {} slices, more than {}", tensor.path, slices[i].size(), kMaxSlices);
    }
    std::int64_t covered = 0;
    for (std::size_t a = 0; a < slices[i].size(); ++a) {
      covered += num_elements(slices[i][a]->shape);
      for (std::size_t b = 0; b < a; ++b) {
        if (overlap(*slices[i][a], *slices[i][b])) {
          refuse(file, "two slices of '{}' overlap", tensor.path);
        }
      }
    }
    if (covered != num_elements(tensor.shape)) {
      refuse(file, "the slices of '{}' have {} elements, the tensor {}", tensor.path, covered,
             num_elements(tensor.shape));
    }
  }
}

/// Keys stand in the order of their names, so what was read is written as it was.
std::string checksum_of(const Json& json) {
  const std::string text = json_dump(json);
  return fmt::format("{:016x}", hash_bytes(text.data(), text.size()));
}

/// Of all but the checksum itself, which the first versions did not write.
void check_checksum(const Json& json, const std::string& file) {
  const auto found = json.find(kChecksum);
  if (found == json.end()) return;
  Json rest = json;
  rest.erase(kChecksum);
  if (*found == checksum_of(rest)) return;
  refuse(file, "it has another checksum than when it was written: damaged, or edited");
}

/// One that is newer need not be damaged.
void check_version(const Json& version, const std::string& file) {
  if (version == kVersion) return;
  if (version.is_number_integer() && version > kVersion) {
    throw NewerIndexError(
        fmt::format("{}: a newer version of Meshwork has written this checkpoint, in version {} of "
                    "the format, and this one reads version {}; install that version",
                    file, json_dump(version), kVersion));
  }
  refuse(file, "version {} is not the {} that this meshwork reads", json_dump(version), kVersion);
}

CheckpointIndex read_index(const Json& json, const std::string& file) {
  if (json.at("format") != kFormat) refuse(file, "its format is not '{}'", kFormat);
  check_version(json.at("version"), file);
  CheckpointIndex index;
  for (const Json& tensor : json.at("tensors")) index.tensors.push_back(read_tensor(tensor, file));
  for (std::size_t i = 1; i < index.tensors.size(); ++i) {
    if (index.tensors[i - 1].path >= index.tensors[i].path) {
      refuse(file, "'{}' stands behind '{}'", index.tensors[i].path, index.tensors[i - 1].path);
    }
  }
  for (const Json& slice : json.at("slices")) {
    index.slices.push_back(read_slice(slice, index.tensors, file));
  }
  check_coverage(index, file);
  index.metadata = json.at("metadata").get<Metadata>();
  index.state = json_dump(json.at("state"));
  index.config = json.at("config").get<std::string>();
  check_checksum(json, file);
  return index;
}

/// What `read` makes of a text; what is wrong with it as JSON is an Error.
template <class Read>
auto read_json(std::string_view text, const std::string& file, Read read) {
  try {
    return read(parse_strict_json<Json>(text, fmt::format("{}: {}", file, kNoIndex)));
  } catch (const Json::exception& error) {
    const std::string what = error.what();  // "[json.exception.out_of_range.403] key .. not found"
    refuse(file, "{}", what.substr(std::min(what.size(), what.find(']') + 2)));
  }
}

}  // namespace

std::uint64_t hash_bytes(const void* data, std::size_t bytes) { return XXH3_64bits(data, bytes); }

std::int64_t bytes_of(const StoredSlice& slice, const StoredTensor& tensor) {
  return num_elements(slice.shape) * static_cast<std::int64_t>(size_of(*dtype_of(tensor)));
}

std::string to_json(const CheckpointIndex& index) {
  Json tensors = Json::array(), slices = Json::array();
  for (const StoredTensor& tensor : index.tensors) {
    tensors.push_back({{"path", tensor.path}, {"dtype", tensor.dtype}, {"shape", tensor.shape}});
  }
  for (const StoredSlice& slice : index.slices) slices.push_back(slice_to_json(slice));
  Json json{{"format", kFormat},
            {"version", kVersion},
            {"metadata", index.metadata},
            {"state", parse_json<Json>(index.state, "the state of a checkpoint")},
            {"config", index.config},
            {"tensors", std::move(tensors)},
            {"slices", std::move(slices)}};
  json[kChecksum] = checksum_of(json);
  return json_dump(json) + '\n';
}

CheckpointIndex parse_checkpoint_index(std::string_view json, const std::string& file) {
  return read_json(json, file, [&](const Json& root) { return read_index(root, file); });
}

std::string slices_to_json(const std::vector<StoredSlice>& slices) {
  Json json = Json::array();
  for (const StoredSlice& slice : slices) json.push_back(slice_to_json(slice));
  return json_dump(json);
}

std::vector<StoredSlice> parse_slices(std::string_view json,
                                      const std::vector<StoredTensor>& tensors,
                                      const std::string& file) {
  return read_json(json, file, [&](const Json& root) {
    std::vector<StoredSlice> slices;
    for (const Json& slice : root) slices.push_back(read_slice(slice, tensors, file));
    return slices;
  });
}

}  // namespace meshwork
