#include "train/checkpointer.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <system_error>
#include <utility>

#include "base/byte_size.h"
#include "base/error.h"
#include "comm/collectively.h"
#include "config/standalone.h"
#include "job/same_model.h"

namespace fs = std::filesystem;

namespace meshwork {
namespace {

/// In the order that an index has them.
void sort_by_path(Snapshot& snapshot) {
  const std::vector<std::size_t> order = in_path_order(snapshot.tensors);
  std::vector<GlobalTensor> tensors;
  std::vector<std::size_t> places(order.size());
  for (std::size_t i = 0; i < order.size(); ++i) {
    tensors.push_back(snapshot.tensors[order[i]]);
    places[order[i]] = i;
  }
  snapshot.tensors = std::move(tensors);
  for (TensorPart& part : snapshot.parts) part.tensor = places[part.tensor];
}

/// Throws an Error of ExitCode::kFile where a directory has no place for so many bytes.
void check_space(const std::string& directory, std::int64_t bytes) {
  const std::int64_t left = free_space(directory);
  if (bytes <= left) return;
  fail(ExitCode::kFile, "{}: {} are to be written, and {} are left on the disk", directory,
       show_bytes(bytes), show_bytes(left));
}

/// Does it beside its caller, or, where the system has no thread for it, when it is waited for.
template <class Work>
auto begin_beside(const Work& work) {
  try {
    return std::async(std::launch::async, work);
  } catch (const std::system_error&) {
    return std::async(std::launch::deferred, work);
  }
}

/// That of this member, by its environment.
std::string own_fallback(const config::Config& config, const RunDirectory& directory) {
  const char* temporary = std::getenv("TMPDIR");
  std::string root = config.checkpoint.fallback;
  if (root.empty() && temporary != nullptr) root = temporary;
  if (root.empty()) return "";
  // Other runs may have a directory of that name elsewhere.
  std::error_code code;
  fs::path path = fs::weakly_canonical(fs::absolute(directory.path(), code), code);
  if (!path.has_filename()) path = path.parent_path();
  const std::string whole = path.string();
  return fmt::format("{}/{}-{:08x}.checkpoints", root, path.filename().string(),
                     hash_bytes(whole.data(), whole.size()) >> 32U);
}

}  // namespace

std::string fallback_of(const config::Config& config, const RunDirectory& directory,
                        HostGroup& hosts) {
  std::string fallback = own_fallback(config, directory);
  broadcast_text(hosts, fallback, 0);
  return fallback;
}

Checkpointer::Checkpointer(HostGroup& hosts, const config::Config& config,
                           const RunDirectory& directory, bool async,
                           std::function<void(const std::string&)> say)
    : hosts_(hosts),
      spec_(config.checkpoint),
      async_(async),
      run_(directory),
      directory_(directory.checkpoints()),
      fallback_(fallback_of(config, directory, hosts)),
      say_(std::move(say)) {
  index_.config = config::standalone_text(config, directory.path());
  index_.metadata = model_metadata(config);
}

void Checkpointer::save(Snapshot snapshot, std::optional<double> best) {
  complete();
  sort_by_path(snapshot);
  if (async_) snapshot.parts = copies_.copy(snapshot.tensors, snapshot.parts);
  bytes_ = 0;
  for (const GlobalTensor& tensor : snapshot.tensors) {
    bytes_ += num_bytes({tensor.dtype, tensor.shape});
  }
  index_.tensors = stored_tensors(snapshot.tensors);
  index_.state = std::move(snapshot.state);
  steps_ = snapshot.steps;
  parts_ = std::move(snapshot.parts);
  new_best_ = best;
  is_under_way_ = true;
  failure_ = begin(directory_);
  if (!async_) complete();
}

/// Errors of files as texts, the same on all devices; others are thrown.
template <class Work>
std::string Checkpointer::failure_of(const Work& work) const {
  try {
    work();
    return "";
  } catch (const Error& error) {
    if (error.code() != ExitCode::kFile) throw;
    return error.what();
  }
}

std::string Checkpointer::begin(const std::string& directory) {
  place_ = directory;
  path_.clear();
  return failure_of([&] {
    std::string path;
    collectively(hosts_, [&] {
      if (hosts_.rank() != 0) return;
      check_place();
      create_parent_directory(directory + "/");
      check_space(directory, bytes_);
      path = new_checkpoint(directory, steps_);
      create_parent_directory(path + "/");
      sync_directory(directory);
    });
    broadcast_text(hosts_, path, 0);
    path_ = path;
    const auto write = [path, file = part_file(hosts_.rank()), tensors = index_.tensors,
                        parts = parts_] { return write_slices(path, file, tensors, parts); };
    slices_ = async_ ? begin_beside(write) : std::async(std::launch::deferred, write);
  });
}

bool Checkpointer::has_written() const {
  return !slices_.valid() ||
         slices_.wait_for(std::chrono::seconds(0)) != std::future_status::timeout;
}

std::string Checkpointer::finish() {
  const std::string failure = failure_of([&] {
    Slices mine;
    collectively(hosts_, [&] { mine = slices_.get(); });
    const std::vector<std::string> all = gather_texts(hosts_, slices_to_json(mine));
    collectively(hosts_, [&] {
      if (hosts_.rank() != 0) return;
      index_.slices.clear();
      for (const std::string& text : all) {
        const Slices slices = parse_slices(text, index_.tensors, path_);
        index_.slices.insert(index_.slices.end(), slices.begin(), slices.end());
      }
      check_place();
      sync_directory(path_);
      write_index(path_, index_);
    });
  });
  const bool may_remove = place_ != directory_ || run_.is_held();
  if (!failure.empty() && may_remove && hosts_.rank() == 0) remove(path_);
  return failure;
}

void Checkpointer::complete() {
  if (!std::exchange(is_under_way_, false)) return;
  if (failure_.empty()) failure_ = finish();
  if (!failure_.empty()) {
    complete_elsewhere();
  } else {
    written_ = steps_;
    newest_ = path_;
    complete_here();
  }
  parts_.clear();
}

void Checkpointer::complete_here() {
  if (new_best_) set_best(fs::path(path_).filename().string(), new_best_);
  const std::string older = std::exchange(elsewhere_, "");
  if (hosts_.rank() != 0) return;
  remove_old();
  std::error_code code;
  fs::remove(fs::path(directory_).parent_path() / kFinalWeights, code);  // of an earlier end
  if (older.empty()) return;
  remove(older);
  fs::remove(fallback_, code);  // which may hold final weights
}

void Checkpointer::complete_elsewhere() {
  const std::string why =
      fmt::format("warning: no checkpoint after step {} in {}: {}", steps_, directory_, failure_);
  if (fallback_.empty()) {
    say_(fmt::format("{}; {} for a second place; training goes on", why, kSecondPlace));
    return;
  }
  std::string failure = begin(fallback_);
  if (failure.empty()) failure = finish();
  if (!failure.empty()) {
    say_(fmt::format("{}; nor in {}: {}; training goes on", why, fallback_, failure));
    failure_ += fmt::format("; nor in {}: {}", fallback_, failure);
    return;
  }
  failure_.clear();
  written_ = steps_;
  newest_ = path_;
  say_(fmt::format("{}; it is in {}; training goes on", why, path_));
  const std::string before = std::exchange(elsewhere_, path_);
  if (!before.empty() && hosts_.rank() == 0) remove(before);
}

void Checkpointer::remove(const std::string& path) const {
  const std::string failure = failure_of([&] { remove_checkpoint(path); });
  if (!failure.empty()) say_(fmt::format("warning: {} could not be removed: {}", path, failure));
}

void Checkpointer::remove_old() const {
  const std::vector<std::string> all = list_checkpoints(directory_, [&](const Error& error) {
    say_(fmt::format("warning: not counted among the checkpoints, and not removed: {}",
                     error.what()));
  });
  const auto kept = static_cast<std::ptrdiff_t>(spec_.keep);
  const auto end = all.end() - std::min<std::ptrdiff_t>(kept, std::ssize(all));
  for (auto checkpoint = all.begin(); checkpoint != end; ++checkpoint) {
    if (fs::path(*checkpoint).filename() != best_) remove(*checkpoint);
  }
}

}  // namespace meshwork
