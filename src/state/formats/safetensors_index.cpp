// Hugging Face's <name>.safetensors.index.json: "weight_map", from each tensor to the file beside
// it that has it
#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "base/quote.h"
#include "state/formats/format.h"
#include "state/safetensors.h"
#include "state/stored_tensors.h"

namespace meshwork::formats {
namespace {

constexpr std::string_view kSuffix = ".index.json";
constexpr std::string_view kWayOut = "fetch all files of the model again";

class Tensors : public TensorFile {
 public:
  explicit Tensors(const std::string& file) : TensorFile(file) {
    std::map<std::string, std::vector<std::string>> by_shard;
    for (const auto& [tensor, shard] : read_index()) by_shard[shard].push_back(tensor);
    std::vector<StoredTensor> tensors;
    for (const auto& [shard, wanted] : by_shard) {
      const SafetensorsFile& opened = open_shard(shard);
      check_shard(opened, shard, wanted);
      for (const StoredTensor& tensor : opened.tensors()) tensors.push_back(tensor);
      for (const std::string& path : wanted) shard_of_.emplace(path, shards_.size() - 1);
    }
    set_tensors(std::move(tensors));
  }

  void read(const StoredTensor& tensor, const Region& region, const Shape& local,
            std::byte* to) const override {
    const SafetensorsFile& shard = shards_[shard_of_.at(tensor.path)];
    shard.read({tensor.path, *dtype_of(tensor), tensor.shape}, region, local, to);
  }

 private:
  template <class... Args>
  [[noreturn]] void refuse(fmt::format_string<Args...> format, Args&&... args) const {
    fail(ExitCode::kFile, "{}: {}", name(), fmt::format(format, std::forward<Args>(args)...));
  }

  /// Tensors, and their shards.
  std::map<std::string, std::string> read_index() const {
    const auto json =
        parse_strict_json<nlohmann::json>(read_text_file(name()), name(), "the index");
    const auto map = json.is_object() ? json.find("weight_map") : json.end();
    if (map == json.end() || !map->is_object()) {
      refuse("not a good index of safetensors: it has no map 'weight_map'");
    }
    std::map<std::string, std::string> shards;
    for (const auto& [tensor, shard] : map->items()) {
      const std::string file = shard.is_string() ? shard.get<std::string>() : "";
      if (file.empty() || file[0] == '.' || file.find('/') != std::string::npos) {
        refuse("'{}': {} is no name of a file beside it", excerpt(tensor),
               excerpt(json_dump(shard)));
      }
      shards[tensor] = file;
    }
    return shards;
  }

  const SafetensorsFile& open_shard(const std::string& shard) {
    const std::string path = std::filesystem::path(name()).replace_filename(shard).string();
    if (!is_regular_file(path)) {
      refuse("its shard '{}' is not beside it; {}", excerpt(shard), kWayOut);
    }
    return shards_.emplace_back(path);
  }

  /// The shard must have just these tensors, which are sorted.
  void check_shard(const SafetensorsFile& opened, const std::string& shard,
                   const std::vector<std::string>& wanted) const {
    for (const std::string& path : wanted) {
      if (find_stored(opened.tensors(), path) != nullptr) continue;
      refuse("'{}' is not in its shard '{}'; {}", excerpt(path), shard, kWayOut);
    }
    for (const StoredTensor& tensor : opened.tensors()) {
      if (std::binary_search(wanted.begin(), wanted.end(), tensor.path)) continue;
      refuse("'{}' is in the shard '{}', where the index has it not; {}", excerpt(tensor.path),
             shard, kWayOut);
    }
  }

  std::vector<SafetensorsFile> shards_;
  std::map<std::string, std::size_t> shard_of_;
};

}  // namespace

const Format kSafetensorsIndex{.name = "safetensors-index",
                               .suffixes = {".safetensors.index.json"},
                               .recognizes =
                                   [](const std::string& file, std::string_view head) {
                                     return head.starts_with("{") && file.ends_with(kSuffix);
                                   },
                               .open = [](const std::string& file) -> std::unique_ptr<TensorFile> {
                                 return std::make_unique<Tensors>(file);
                               },
                               .write = nullptr};

}  // namespace meshwork::formats
