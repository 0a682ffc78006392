#include "state/safetensors.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <iterator>

#include "base/check.h"
#include "base/error.h"
#include "base/join.h"
#include "base/nearest.h"
#include "comm/collectively.h"

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

std::string nearest_names(const std::string& path, const std::vector<std::string>& candidates) {
  std::vector<std::string> names = nearest(path, candidates);
  for (std::string& name : names) name = fmt::format("'{}'", name);
  return names.empty() ? "" : fmt::format("; nearest: {}", join(names, ", "));
}

bool same_type(const StoredTensor& stored, const GlobalTensor& tensor) {
  return stored.dtype == safetensors_word(tensor.dtype) && stored.shape == tensor.shape;
}

/// Why `stored`, or nothing, does not do for `tensor`; "" if it does. `extra`: paths nobody
/// expects.
std::string problem_of(const GlobalTensor& tensor, const StoredTensor* stored,
                       const std::vector<std::string>& extra) {
  const std::string type = describe(tensor.dtype, tensor.shape);
  if (stored == nullptr) {
    return fmt::format("no tensor '{}', {} in the model{}", tensor.path, type,
                       nearest_names(tensor.path, extra));
  }
  if (same_type(*stored, tensor)) return {};
  return fmt::format("'{}' is {} in the file, {} in the model", tensor.path, describe(*stored),
                     type);
}

/// Those of `paths` that are not in `others`; both sorted.
std::vector<std::string> without(const std::vector<std::string>& paths,
                                 const std::vector<std::string>& others) {
  std::vector<std::string> result;
  std::set_difference(paths.begin(), paths.end(), others.begin(), others.end(),
                      std::back_inserter(result));
  return result;
}

/// One line, or a list of the first ten.
[[noreturn]] void fail_with(const std::string& file, const std::vector<std::string>& problems) {
  constexpr std::size_t kMost = 10;
  if (problems.size() == 1) fail(ExitCode::kFile, "{}: {}", file, problems[0]);
  std::string text = fmt::format("{}: {} tensors do not fit:", file, problems.size());
  for (std::size_t i = 0; i < std::min(kMost, problems.size()); ++i) text += "\n  " + problems[i];
  if (problems.size() > kMost) text += fmt::format("\n  and {} more", problems.size() - kMost);
  throw Error(ExitCode::kFile, text);
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
  const std::string partial = file + ".partial";
  try {
    collectively(hosts, [&] {
      if (first) begin_file(partial, plan);
    });
    collectively(hosts, [&] { write_parts(partial, plan, tensors, parts); });
    collectively(hosts, [&] {
      if (first) rename_file(partial, file);
    });
  } catch (...) {
    if (first) ::unlink(partial.c_str());
    throw;
  }
}

SafetensorsFile::SafetensorsFile(const std::string& file)
    : file_(File::open(file)), header_(read_header(file_)) {}

const StoredTensor* SafetensorsFile::find(std::string_view path) const {
  const auto& tensors = header_.tensors;
  const auto tensor =
      std::lower_bound(tensors.begin(), tensors.end(), path,
                       [](const StoredTensor& t, std::string_view p) { return t.path < p; });
  return tensor == tensors.end() || tensor->path != path ? nullptr : &*tensor;
}

std::vector<std::string> SafetensorsFile::paths() const {
  std::vector<std::string> result;
  for (const StoredTensor& tensor : tensors()) result.push_back(tensor.path);
  return result;
}

void SafetensorsFile::check_tensors(const std::vector<GlobalTensor>& expected,
                                    bool allow_extra) const {
  std::vector<std::string> wanted;
  for (const std::size_t i : in_path_order(expected)) wanted.push_back(expected[i].path);
  const std::vector<std::string> missing = without(wanted, paths());
  const std::vector<std::string> extra = without(paths(), wanted);

  std::vector<std::string> problems;
  for (const std::size_t i : in_path_order(expected)) {
    const std::string problem = problem_of(expected[i], find(expected[i].path), extra);
    if (!problem.empty()) problems.push_back(problem);
  }
  for (const std::string& path : allow_extra ? std::vector<std::string>{} : extra) {
    problems.push_back(fmt::format("'{}', {} in the file, is not in the model{}", path,
                                   describe(*find(path)), nearest_names(path, missing)));
  }
  if (!problems.empty()) fail_with(name(), problems);
}

void SafetensorsFile::read(const GlobalTensor& tensor, const Region& region, const Shape& local,
                           std::byte* to) const {
  check_part(tensor, region, local);
  const StoredTensor* stored = find(tensor.path);
  if (stored == nullptr || !same_type(*stored, tensor)) check_tensors({tensor}, true);
  const std::size_t size = size_of(tensor.dtype);
  for_each_run(region, local, [&](const Run& run) {
    file_.read_at(to + static_cast<std::size_t>(run.local) * size,
                  static_cast<std::size_t>(run.count) * size,
                  stored->begin + static_cast<std::uint64_t>(run.global) * size);
  });
}

}  // namespace meshwork
