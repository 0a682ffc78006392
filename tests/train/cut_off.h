#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "state/checkpoint.h"
#include "whole_runs.h"

namespace meshwork::testing::runs {

inline std::vector<std::string> checkpoints_in(const std::string& run) {
  return list_checkpoints(run + "/checkpoints");
}

/// What a run in `from` leaves in `to` if it is killed after it has written a checkpoint.
inline void cut_off(const std::string& from, const std::string& to, std::size_t checkpoint) {
  std::filesystem::remove_all(to);
  std::filesystem::copy(from, to, std::filesystem::copy_options::recursive);
  const std::vector<std::string> all = checkpoints_in(to);
  for (std::size_t i = checkpoint + 1; i < all.size(); ++i) remove_checkpoint(all[i]);
  std::filesystem::remove(to + "/final.safetensors");
}

inline Outcome resume(const std::string& text, const std::string& mesh,
                      const std::string& directory) {
  return fit_on(text, mesh, directory, 0, {.rerun = Rerun::kResume});
}

}  // namespace meshwork::testing::runs
