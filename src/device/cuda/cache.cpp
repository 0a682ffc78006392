#include "device/cuda/cache.h"

#include <fmt/format.h>
#include <unistd.h>
#include <xxhash.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace meshwork::cuda {

std::string cache_folder() {
  const auto variable = [](const char* name) {
    const char* const value = std::getenv(name);
    return std::string(value == nullptr ? "" : value);
  };
  if (const auto own = variable("MESHWORK_CUDA_CACHE"); !own.empty()) return own;
  if (const auto all = variable("XDG_CACHE_HOME"); !all.empty()) return all + "/meshwork/cuda";
  const auto home = variable("HOME");
  return home.empty() ? "" : home + "/.cache/meshwork/cuda";
}

namespace {

/// Empty: nowhere.
std::filesystem::path place_of(const std::string& key, const std::string& ending) {
  const std::filesystem::path folder(cache_folder());
  if (folder.empty()) return folder;
  const XXH128_hash_t hash = XXH3_128bits(key.data(), key.size());
  return folder / fmt::format("{:016x}{:016x}{}", hash.high64, hash.low64, ending);
}

}  // namespace

std::optional<std::string> read_cached(const std::string& key, const std::string& ending) {
  std::ifstream file(place_of(key, ending), std::ios::binary);
  if (!file) return std::nullopt;
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

void keep_cached(const std::string& key, const std::string& ending, const std::string& content) {
  const std::filesystem::path place = place_of(key, ending);
  if (place.empty()) return;
  std::error_code ignored;
  std::filesystem::create_directories(place.parent_path(), ignored);
  // Under a name of its own first: other processes, and other threads, find all of it or nothing.
  static std::atomic<int> number = 0;
  const std::filesystem::path written = fmt::format("{}.{}.{}", place.string(), getpid(), number++);
  {
    std::ofstream file(written, std::ios::binary);
    file.write(content.data(), static_cast<std::streamsize>(content.size()));
    if (!file.flush()) {
      std::filesystem::remove(written, ignored);
      return;
    }
  }
  std::filesystem::rename(written, place, ignored);
}

}  // namespace meshwork::cuda
