#include "state/safetensors.h"

#include <bit>
#include <optional>

#include "base/check.h"
#include "base/error.h"
#include "base/unfinished_file.h"
#include "comm/collectively.h"
#include "state/stored_tensors.h"

namespace meshwork {
namespace {

static_assert(std::endian::native == std::endian::little, "safetensors is little endian");

/// Every element has one owner: else the file would have holes, or depend on who writes last.
void check_owners(const std::vector<GlobalTensor>& tensors, const std::vector<TensorPart>& parts,
                  HostGroup& hosts) {
  std::vector<std::int64_t> owned(tensors.size(), 0);
  for (const TensorPart& part : parts) {
    check_part(tensors.at(part.tensor), part.region, part.shape);
    if (part.owner) owned[part.tensor] += num_elements(part.shape);
  }
  owned = sum_over_members(hosts, owned);
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    MW_CHECK(owned[i] == num_elements(tensors[i].shape), "{}: {} elements have owners, of {}",
             tensors[i].path, owned[i], num_elements(tensors[i].shape));
  }
}

void begin_file(const std::string& path, const SafetensorsPlan& plan) {
  File file = File::create(path);
  file.resize(plan.file_bytes);
  file.write_at(plan.head.data(), plan.head.size(), 0);
  file.close();
}

void write_parts(const std::string& path, const SafetensorsPlan& plan,
                 const std::vector<GlobalTensor>& tensors, const std::vector<TensorPart>& parts) {
  File file = File::open_to_write(path);
  for (const TensorPart& part : parts) {
    if (!part.owner) continue;
    const std::size_t size = size_of(tensors[part.tensor].dtype);
    const std::uint64_t begin = plan.offsets[part.tensor];
    read_part(tensors[part.tensor], part, [&](auto global, const std::byte* elements, auto count) {
      file.write_at(elements, static_cast<std::size_t>(count) * size,
                    begin + static_cast<std::uint64_t>(global) * size);
    });
  }
  file.sync();
  file.close();
}

/// Reads length and JSON, after checking that the file can hold them.
SafetensorsHeader read_header(const File& file) {
  const std::uint64_t bytes = file.size();
  std::uint64_t length = 0;
  if (bytes < sizeof length) {
    fail(ExitCode::kFile,
         "{}: not a good safetensors file: it has {} bytes, not even the 8 of the length of "
         "the header",
         file.path(), bytes);
  }
  file.read_at(&length, sizeof length, 0);
  if (length > bytes - sizeof length || length > kMaxSafetensorsHeader) {
    fail(ExitCode::kFile, "{}: not a good safetensors file: a header of {} bytes in a file of {}",
         file.path(), length, bytes);
  }
  std::string json(length, '\0');
  file.read_at(json.data(), json.size(), sizeof length);
  const std::uint64_t data_begin = sizeof length + length;
  return parse_safetensors_header(json, data_begin, bytes - data_begin, file.path());
}

}  // namespace

void write_safetensors(const std::string& file, const std::vector<GlobalTensor>& tensors,
                       const std::vector<TensorPart>& parts, const Metadata& metadata,
                       HostGroup& hosts) {
  Metadata all = metadata;
  all.insert({{"format", "meshwork"}, {"version", "1"}});
  const SafetensorsPlan plan = plan_safetensors(tensors, all, file);
  check_owners(tensors, parts, hosts);

  const bool first = hosts.rank() == 0;
  std::string target, partial;
  std::optional<UnfinishedFile> unfinished;  // of the first
  collectively(hosts, [&] {
    if (!first) return;
    target = file_to_replace(file);
    partial = partial_name(target);
    unfinished.emplace(partial);
  });
  broadcast_text(hosts, partial, 0);
  collectively(hosts, [&] {
    if (first) begin_file(partial, plan);
  });
  collectively(hosts, [&] { write_parts(partial, plan, tensors, parts); });
  collectively(hosts, [&] {
    if (!first) return;
    rename_file(partial, target);
    unfinished->keep();
  });
}

SafetensorsFile::SafetensorsFile(const std::string& file)
    : file_(File::open(file)), header_(read_header(file_)) {}

void SafetensorsFile::check_tensors(const std::vector<GlobalTensor>& expected,
                                    bool allow_extra) const {
  check_stored_tensors(name(), tensors(), expected, allow_extra);
}

void SafetensorsFile::read(const GlobalTensor& tensor, const Region& region, const Shape& local,
                           std::byte* to) const {
  check_part(tensor, region, local);
  const StoredTensor* stored = find_stored(tensors(), tensor.path);
  if (stored == nullptr || !is_same_type(*stored, tensor)) check_tensors({tensor}, true);
  const std::size_t size = size_of(tensor.dtype);
  for_each_run(region, local, [&](const Run& run) {
    file_.read_at(to + static_cast<std::size_t>(run.local) * size,
                  static_cast<std::size_t>(run.count) * size,
                  stored->begin + static_cast<std::uint64_t>(run.global) * size);
  });
}

}  // namespace meshwork
