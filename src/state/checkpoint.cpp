#include "state/checkpoint.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <memory>
#include <new>
#include <numeric>
#include <string_view>
#include <system_error>
#include <utility>

#include "base/check.h"
#include "base/error.h"
#include "base/huge_pages.h"
#include "base/unbuffered_writer.h"
#include "state/stored_tensors.h"

namespace meshwork {
namespace {

namespace fs = std::filesystem;

constexpr const char* kIndex = "index.json";
constexpr const char* kPart = "part-";

/// None where another device is the owner.
std::int64_t owned_bytes(const std::vector<GlobalTensor>& tensors, const TensorPart& part) {
  const auto size = static_cast<std::int64_t>(size_of(tensors.at(part.tensor).dtype));
  return part.owner ? num_elements(part.shape) * size : 0;
}

/// Writes a slice, and notes the checksums of its blocks.
void write_slice(UnbufferedWriter& file, const TensorPart& part, std::int64_t bytes,
                 StoredSlice& slice) {
  for (std::int64_t begin = 0; begin < bytes; begin += kHashedBytes) {
    const std::int64_t count = std::min(kHashedBytes, bytes - begin);
    const std::byte* data = part.read(begin, count);
    const auto size = static_cast<std::size_t>(count);
    slice.hashes.push_back(hash_bytes(data, size));
    file.append(data, size);
  }
}

/// Steps and number of a checkpoint by its name; {-1, 0} for another name.
std::pair<std::int64_t, std::int64_t> order_of(const std::string& name) {
  constexpr std::string_view kStep = "step-";
  std::string_view rest = name;
  const auto take = [&](std::string_view before, std::int64_t& number) {
    if (!rest.starts_with(before)) return false;
    rest.remove_prefix(before.size());
    const auto [end, code] = std::from_chars(rest.data(), rest.data() + rest.size(), number);
    rest.remove_prefix(static_cast<std::size_t>(end - rest.data()));
    return code == std::errc() && number >= 0;
  };
  std::int64_t steps = 0, number = 1;
  const bool is_one = take(kStep, steps) && (rest.empty() || take("-", number)) && rest.empty();
  return is_one ? std::pair(steps, number) : std::pair<std::int64_t, std::int64_t>(-1, 0);
}

/// The names of directories that are, or were to be, checkpoints, the oldest first.
std::vector<std::string> names_in(const std::string& directory) {
  std::vector<std::string> names;
  std::error_code code;
  for (fs::directory_iterator entry(directory, code), end; !code && entry != end;
       entry.increment(code)) {
    const std::string name = entry->path().filename().string();
    if (order_of(name).first >= 0 && entry->is_directory(code)) names.push_back(name);
  }
  std::sort(names.begin(), names.end(),
            [](const auto& a, const auto& b) { return order_of(a) < order_of(b); });
  return names;
}

[[noreturn]] void fail_damaged(std::string_view what, const std::string& directory) {
  fail(ExitCode::kFile, "{}; remove {}, and --resume takes the checkpoint before it", what,
       directory);
}

/// Whether there is no such file, or it ends before it should.
bool is_cut_off(const std::string& file, std::uint64_t bytes) {
  std::error_code code;
  const std::uintmax_t size = fs::file_size(file, code);
  return code ? code == std::errc::no_such_file_or_directory : size < bytes;
}

CheckpointIndex read_index(const std::string& directory) {
  const std::string path = directory + "/" + kIndex;
  if (!is_checkpoint(directory)) {
    fail(ExitCode::kFile, "{}: no checkpoint: there is no {} in it", directory, kIndex);
  }
  const std::string text = read_text_file(path);
  try {
    return parse_checkpoint_index(text, path);
  } catch (const NewerIndexError&) {
    throw;
  } catch (const Error& error) {
    fail_damaged(error.what(), directory);
  }
}

/// The common part of two blocks of a tensor; no elements where there is none.
std::pair<Shape, Shape> intersection(const Region& a, const Shape& a_shape, const Region& b,
                                     const Shape& b_shape) {
  Shape begin, shape;
  for (std::size_t d = 0; d < a_shape.size(); ++d) {
    begin.push_back(std::max(a.offset[d], b.offset[d]));
    const std::int64_t end = std::min(a.offset[d] + a_shape[d], b.offset[d] + b_shape[d]);
    shape.push_back(std::max<std::int64_t>(0, end - begin.back()));
  }
  return {begin, shape};
}

/// Where a block of the tensor lies within a larger one.
Region within(const Shape& begin, const Region& outer, const Shape& outer_shape) {
  Region region{outer_shape, begin};
  for (std::size_t d = 0; d < begin.size(); ++d) region.offset[d] -= outer.offset[d];
  return region;
}

}  // namespace

std::vector<StoredTensor> stored_tensors(const std::vector<GlobalTensor>& tensors) {
  std::vector<StoredTensor> stored;
  for (const GlobalTensor& tensor : tensors) {
    stored.push_back({tensor.path, std::string(safetensors_word(tensor.dtype)), tensor.shape});
  }
  return stored;
}

std::vector<StoredSlice> write_slices(const std::string& directory, const std::string& name,
                                      const std::vector<StoredTensor>& tensors,
                                      const std::vector<TensorPart>& parts) {
  const std::string path = directory + "/" + name;
  std::vector<StoredSlice> slices;
  std::vector<const TensorPart*> sources;  // of the slices
  std::vector<GlobalTensor> local;
  for (const TensorPart& part : parts) {
    if (!part.owner || num_elements(part.shape) == 0) continue;
    const StoredTensor& tensor = tensors.at(part.tensor);
    slices.push_back({part.tensor, part.region, part.shape, name, 0, {}});
    sources.push_back(&part);
    local.push_back({tensor.path, *dtype_of(tensor), part.shape});
  }
  const SafetensorsPlan plan = plan_safetensors(local, {{"format", "meshwork slices"}}, path);
  std::vector<std::size_t> order(slices.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(),
            [&](std::size_t a, std::size_t b) { return plan.offsets[a] < plan.offsets[b]; });
  UnbufferedWriter file(path);
  file.append(plan.head.data(), plan.head.size());
  for (const std::size_t i : order) {
    slices[i].offset = plan.offsets[i];
    MW_CHECK(slices[i].offset == file.size(), "{}", path);
    write_slice(file, *sources[i], bytes_of(slices[i], tensors[slices[i].tensor]), slices[i]);
  }
  file.finish();
  return slices;
}

std::int64_t owned_bytes(const std::vector<GlobalTensor>& tensors,
                         const std::vector<TensorPart>& parts) {
  std::int64_t bytes = 0;
  for (const TensorPart& part : parts) bytes += owned_bytes(tensors, part);
  return bytes;
}

std::vector<TensorPart> PartCopies::copy(const std::vector<GlobalTensor>& tensors,
                                         const std::vector<TensorPart>& parts) {
  const std::int64_t needed = owned_bytes(tensors, parts);
  if (needed != bytes_) {
    memory_.reset();
    bytes_ = -1;
    memory_ = zeroed_pages(static_cast<std::size_t>(needed));
    if (memory_ == nullptr) throw std::bad_alloc();
    bytes_ = needed;
  }
  std::vector<TensorPart> copies = parts;
  std::byte* free = memory_.get();
  for (TensorPart& part : copies) {
    const std::int64_t bytes = owned_bytes(tensors, part);
    for (std::int64_t begin = 0; begin < bytes; begin += kHashedBytes) {
      const std::int64_t count = std::min(kHashedBytes, bytes - begin);
      std::memcpy(free + begin, part.read(begin, count), static_cast<std::size_t>(count));
    }
    if (part.owner) part.read = [free](std::int64_t begin, std::int64_t) { return free + begin; };
    free += bytes;
  }
  return copies;
}

void write_index(const std::string& directory, const CheckpointIndex& index) {
  replace_file(directory + "/" + kIndex, to_json(index));
}

/// Bytes that go from a slice to a part.
struct Checkpoint::Copy {
  std::int64_t from = 0;  ///< in the slice
  std::int64_t to = 0;    ///< in the part
  std::int64_t bytes = 0;
};

Checkpoint::Checkpoint(const std::string& directory)
    : directory_(directory), index_(read_index(directory)) {}

void Checkpoint::check_tensors(const std::vector<GlobalTensor>& expected, bool allow_extra) const {
  check_stored_tensors(directory_, index_.tensors, expected, allow_extra);
}

void Checkpoint::read(const GlobalTensor& tensor, const Region& region, const Shape& local,
                      std::byte* to) const {
  check_part(tensor, region, local);
  const StoredTensor* stored = find_stored(index_.tensors, tensor.path);
  if (stored == nullptr || !is_same_type(*stored, tensor)) check_tensors({tensor}, true);
  const auto size = static_cast<std::int64_t>(size_of(tensor.dtype));
  for (const StoredSlice& slice : index_.slices) {
    if (&index_.tensors[slice.tensor] != stored) continue;
    const auto [begin, shape] = intersection(slice.region, slice.shape, region, local);
    if (num_elements(shape) == 0) continue;
    const std::vector<Run> from = runs_of(within(begin, slice.region, slice.shape), shape);
    const std::vector<Run> into = runs_of(within(begin, region, local), shape);
    // Both lists cut the common block, in its own order.
    std::vector<Copy> copies;
    std::size_t a = 0, b = 0;
    for (std::int64_t done = 0; a < from.size() && b < into.size();) {
      const std::int64_t end =
          std::min(from[a].local + from[a].count, into[b].local + into[b].count);
      copies.push_back({(from[a].global + done - from[a].local) * size,
                        (into[b].global + done - into[b].local) * size, (end - done) * size});
      done = end;
      if (from[a].local + from[a].count == end) ++a;
      if (into[b].local + into[b].count == end) ++b;
    }
    read_blocks(slice, copies, to);
  }
}

void Checkpoint::read_blocks(const StoredSlice& slice, const std::vector<Copy>& copies,
                             std::byte* to) const {
  const std::string file = directory_ + "/" + slice.file;
  try {
    copy_blocks(slice, copies, File::open(file), to);
  } catch (const Error& error) {
    const std::int64_t bytes = bytes_of(slice, index_.tensors[slice.tensor]);
    if (!is_cut_off(file, slice.offset + static_cast<std::uint64_t>(bytes))) throw;
    fail_damaged(error.what(), directory_);
  }
}

void Checkpoint::copy_blocks(const StoredSlice& slice, const std::vector<Copy>& copies,
                             const File& stored, std::byte* to) const {
  const std::int64_t all = bytes_of(slice, index_.tensors[slice.tensor]);
  std::vector<std::byte> block;
  std::int64_t block_begin = 0, block_end = 0;
  const auto fetch = [&](std::int64_t at) {
    const std::int64_t number = at / kHashedBytes;
    block_begin = number * kHashedBytes;
    block_end = std::min(all, block_begin + kHashedBytes);
    block.resize(static_cast<std::size_t>(block_end - block_begin));
    const std::uint64_t offset = slice.offset + static_cast<std::uint64_t>(block_begin);
    stored.read_at(block.data(), block.size(), offset);
    if (hash_bytes(block.data(), block.size()) == slice.hashes[static_cast<std::size_t>(number)]) {
      return;
    }
    fail_damaged(
        fmt::format("{}: damaged: bytes {} to {}, of '{}', have another checksum than when they "
                    "were written",
                    stored.path(), offset, offset + block.size(),
                    index_.tensors[slice.tensor].path),
        directory_);
  };
  for (const Copy& copy : copies) {
    for (std::int64_t done = 0; done < copy.bytes;) {
      const std::int64_t at = copy.from + done;
      if (at < block_begin || at >= block_end) fetch(at);
      const std::int64_t count = std::min(copy.bytes - done, block_end - at);
      std::memcpy(to + copy.to + done, block.data() + (at - block_begin),
                  static_cast<std::size_t>(count));
      done += count;
    }
  }
}

void Checkpoint::verify() const {
  for (const StoredSlice& slice : index_.slices) {
    const std::int64_t bytes = bytes_of(slice, index_.tensors[slice.tensor]);
    std::vector<std::byte> block(static_cast<std::size_t>(std::min(bytes, kHashedBytes)));
    std::vector<Copy> blocks;  // one after the other to the same place
    for (std::int64_t at = 0; at < bytes; at += kHashedBytes) {
      blocks.push_back({at, 0, std::min(kHashedBytes, bytes - at)});
    }
    if (!blocks.empty()) read_blocks(slice, blocks, block.data());
  }
}

std::string part_file(int device) { return fmt::format("{}{:05}.safetensors", kPart, device); }

std::int64_t total_bytes(const CheckpointIndex& index) {
  std::int64_t bytes = 0;
  for (const StoredSlice& slice : index.slices)
    bytes += bytes_of(slice, index.tensors[slice.tensor]);
  return bytes;
}

bool is_checkpoint(const std::string& directory) {
  const std::string index = directory + "/" + kIndex;
  std::error_code code;
  const bool is_there = fs::exists(index, code);
  const bool is_known = !code || code == std::errc::not_a_directory;
  if (is_known) return is_there;
  fail(ExitCode::kFile, "{}: cannot tell whether a checkpoint is there: {}", index, code.message());
}

std::vector<std::string> list_checkpoints(const std::string& directory,
                                          const std::function<void(const Error&)>& odd) {
  std::vector<std::string> checkpoints;
  for (const std::string& name : names_in(directory)) {
    const std::string path = directory + "/" + name;
    try {
      if (is_checkpoint(path)) checkpoints.push_back(path);
    } catch (const Error& error) {
      if (!odd) throw;
      odd(error);
    }
  }
  return checkpoints;
}

std::string new_checkpoint(const std::string& directory, std::int64_t steps) {
  std::int64_t last = 0;
  for (const std::string& name : names_in(directory)) {
    const auto [before, number] = order_of(name);
    if (before == steps) last = std::max(last, number);
  }
  const auto path_of = [&](std::int64_t number) {
    return number == 1 ? fmt::format("{}/step-{}", directory, steps)
                       : fmt::format("{}/step-{}-{}", directory, steps, number);
  };
  std::error_code code;
  while (fs::exists(path_of(++last), code)) {
  }
  return path_of(last);
}

void remove_checkpoint(const std::string& directory) {
  if (is_checkpoint(directory)) {
    remove_path(directory + "/" + kIndex);
    sync_directory(directory);
  }
  remove_path(directory);
}

namespace {

/// Whether nothing is in it but what a checkpoint has.
bool has_only_parts(const std::string& directory) {
  std::error_code code;
  for (fs::directory_iterator entry(directory, code), end; !code && entry != end;
       entry.increment(code)) {
    const std::string name = entry->path().filename().string();
    const std::string_view whole = file_of_partial(name);
    const std::string_view file = whole.empty() ? name : whole;
    if (file != kIndex && !file.starts_with(kPart)) return false;
  }
  return !code;
}

}  // namespace

void remove_unfinished(const std::string& directory) {
  std::error_code ignored;
  for (const std::string& name : names_in(directory)) {
    const std::string path = directory + "/" + name;
    if (!is_checkpoint(path) && has_only_parts(path)) fs::remove_all(path, ignored);
  }
}

}  // namespace meshwork
