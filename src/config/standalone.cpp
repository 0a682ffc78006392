#include "config/standalone.h"

#include <filesystem>
#include <utility>

#include "base/error.h"
#include "config/named_file.h"
#include "config/weights_map.h"
#include "config/yaml.h"

namespace meshwork::config {
namespace {

/// The keys of the weights_map that a configuration names, or the name where there is no such map,
/// which a run needs for files of other programs alone.
Value in_place(const Value& map, const std::string& config_file) {
  try {
    return load_yaml(weights_map_file(map, config_file));
  } catch (const Error&) {
    return map;
  }
}

}  // namespace

std::string standalone_text(const Config& config, const std::string& run_directory) {
  Value root = parse_yaml(config.text, config.file);
  root.insert("run_directory", {}).value = Value::of_text(run_directory);
  if (config.weights_map.is_scalar()) {
    root.insert("weights_map", {}).value = in_place(config.weights_map, config.file);
  }
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
