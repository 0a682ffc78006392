#include "device/cuda/cache.h"

#include <fmt/format.h>
#include <xxhash.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <utility>

#include "base/file.h"

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

/// What stands at the end of a file, of all before it.
std::string digest_of(const std::string& content) {
  return fmt::format("{:016x}", XXH3_64bits(content.data(), content.size()));
}
constexpr std::size_t kDigest = 16;

}  // namespace

std::optional<std::string> read_cached(const std::string& key, const std::string& ending) {
  std::ifstream file(place_of(key, ending), std::ios::binary);
  if (!file) return std::nullopt;
  std::ostringstream read;
  read << file.rdbuf();
  std::string text = std::move(read).str();
  if (text.size() < kDigest) return std::nullopt;
  const std::string digest = text.substr(text.size() - kDigest);
  text.resize(text.size() - kDigest);
  if (digest != digest_of(text)) return std::nullopt;  // cut off, or damaged
  return text;
}

void keep_cached(const std::string& key, const std::string& ending, const std::string& content) {
  const std::filesystem::path place = place_of(key, ending);
  if (place.empty()) return;
  std::error_code ignored;
  std::filesystem::create_directories(place.parent_path(), ignored);
  // Under a name of its own first: other processes, and other threads, find all of it or nothing.
  // It is not brought to the disk, as write_in_one_step() does: what a crash cuts off is as none.
  const std::string written = partial_name(place.string());
  try {
    File file = File::create(written);
    file.append(content);
    file.append(digest_of(content));
    file.close();
    std::filesystem::rename(written, place);
  } catch (const std::exception&) {
    std::filesystem::remove(written, ignored);
  }
}

}  // namespace meshwork::cuda
