#include "train/checkpointer.h"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <utility>

#include "base/error.h"
#include "comm/collectively.h"

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

std::string file_of(int member) { return fmt::format("part-{:05}.safetensors", member); }

}  // namespace

Checkpointer::Checkpointer(HostGroup& hosts, const config::Config& config, std::string directory,
                           std::function<void(const std::string&)> say)
    : hosts_(hosts),
      spec_(config.checkpoint),
      directory_(std::move(directory)),
      say_(std::move(say)) {
  index_.config = config.text;
}

void Checkpointer::save(Snapshot snapshot, bool is_best) {
  complete();
  const std::int64_t steps = snapshot.steps;
  try {
    begin(std::move(snapshot));
  } catch (const Error& error) {
    if (error.code() != ExitCode::kFile) throw;
    say_(fmt::format("warning: no checkpoint after step {}: {}", steps, error.what()));
    return;
  }
  is_best_ = is_best;
  if (!spec_.async) complete();
}

void Checkpointer::begin(Snapshot snapshot) {
  std::string path;
  collectively(hosts_, [&] {
    if (hosts_.rank() != 0) return;
    path = new_checkpoint(directory_, snapshot.steps);
    create_parent_directory(path + "/");
    sync_directory(directory_);
  });
  broadcast_text(hosts_, path, 0);
  sort_by_path(snapshot);
  index_.tensors = stored_tensors(snapshot.tensors);
  index_.state = std::move(snapshot.state);
  if (spec_.async) snapshot.parts = copy_parts(snapshot.tensors, snapshot.parts);
  const auto write = [path, file = file_of(hosts_.rank()), tensors = index_.tensors,
                      parts = std::move(snapshot.parts)] {
    return write_slices(path, file, tensors, parts);
  };
  slices_ = std::async(spec_.async ? std::launch::async : std::launch::deferred, write);
  path_ = path;
}

bool Checkpointer::has_written() const {
  return !slices_.valid() ||
         slices_.wait_for(std::chrono::seconds(0)) != std::future_status::timeout;
}

void Checkpointer::complete() {
  if (path_.empty()) return;
  const std::string path = std::exchange(path_, "");
  try {
    Slices mine;
    collectively(hosts_, [&] { mine = slices_.get(); });
    const std::vector<std::string> all = gather_texts(hosts_, slices_to_json(mine));
    collectively(hosts_, [&] {
      if (hosts_.rank() != 0) return;
      index_.slices.clear();
      for (const std::string& text : all) {
        const Slices slices = parse_slices(text, index_.tensors, path);
        index_.slices.insert(index_.slices.end(), slices.begin(), slices.end());
      }
      sync_directory(path);
      write_index(path, index_);
    });
  } catch (const Error& error) {
    if (error.code() != ExitCode::kFile) throw;
    say_(fmt::format("warning: {} could not be written: {}; training goes on", path, error.what()));
    if (hosts_.rank() == 0) remove(path);
    return;
  }
  if (is_best_) best_ = std::filesystem::path(path).filename().string();
  if (hosts_.rank() == 0) remove_old();
}

void Checkpointer::remove(const std::string& path) const {
  try {
    remove_checkpoint(path);
  } catch (const Error& error) {
    say_(fmt::format("warning: {} could not be removed: {}", path, error.what()));
  }
}

void Checkpointer::remove_old() const {
  std::vector<std::string> all = list_checkpoints(directory_);
  const auto kept = static_cast<std::ptrdiff_t>(spec_.keep);
  const auto end = all.end() - std::min<std::ptrdiff_t>(kept, std::ssize(all));
  for (auto checkpoint = all.begin(); checkpoint != end; ++checkpoint) {
    if (std::filesystem::path(*checkpoint).filename() != best_) remove(*checkpoint);
  }
}

}  // namespace meshwork
