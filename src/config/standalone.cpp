#include "config/standalone.h"

#include <filesystem>
#include <utility>

#include "config/named_file.h"
#include "config/yaml.h"

namespace meshwork::config {

std::string standalone_text(const Config& config, const std::string& run_directory) {
  Value root = parse_yaml(config.text, config.file);
  root.insert("run_directory", {}).value = Value::of_text(run_directory);
  if (!config.dataset.is_map()) return to_yaml(root);
  Value dataset = config.dataset;
  if (dataset.find("folder") == nullptr) {
    const auto folder = std::filesystem::absolute(folder_of(config.dataset.at.file));
    dataset.insert("folder", {}).value = Value::of_text(folder.lexically_normal().string());
  }
  root.insert("dataset", {}).value = std::move(dataset);
  return to_yaml(root);
}

}  // namespace meshwork::config
