#include "job/same_model.h"

#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/json.h"
#include "base/version.h"
#include "model/layer_prints.h"
#include "state/checkpoint.h"
#include "state/formats/format.h"
#include "state/safetensors.h"

namespace meshwork {
namespace {

using Json = nlohmann::json;

constexpr const char* kModel = "model";
constexpr const char* kVersionKey = "meshwork";

std::string describe(const config::Config& config) {
  Json layers = Json::object();
  for (const auto& [path, print] : layer_prints(config)) {
    layers[path] = {fmt::format("{:016x}", print.hash), print.text};
  }
  return json_dump(layers);
}

Metadata metadata_of(const std::string& weights) {
  std::error_code status;
  if (std::filesystem::is_directory(weights, status)) return Checkpoint(weights).index().metadata;
  // Files of other formats do not say of what model they are.
  if (&format_of(weights) != &formats::kSafetensors) return {};
  return SafetensorsFile(weights).metadata();
}

std::string shown(const Json& layer) {
  const auto text = layer.at(1).get<std::string>();
  return text.empty() ? "another" : "'" + text + "'";
}

void compare(const Json& theirs, const Json& mine, const std::string& weights) {
  constexpr const char* kWayOut =
      "use the configuration they were trained with, config.yaml beside them, or add --any-model";
  for (const auto& [path, layer] : theirs.items()) {
    if (mine.contains(path)) continue;
    fail(ExitCode::kFile,
         "{}: the weights are of a model with a layer '{}', {}, and this one has none; {}", weights,
         path, shown(layer), kWayOut);
  }
  for (const auto& [path, layer] : mine.items()) {
    if (theirs.contains(path)) continue;
    fail(ExitCode::kFile, "{}: layer '{}', {}, is none of the model of the weights; {}", weights,
         path, shown(layer), kWayOut);
  }
  for (const auto& [path, layer] : theirs.items()) {
    if (mine[path].at(0) == layer.at(0)) continue;
    fail(ExitCode::kFile,
         "{}: layer '{}' is {} in the model of the weights, and computes something else here, as "
         "{}; {}",
         weights, path, shown(layer), shown(mine[path]), kWayOut);
  }
}

}  // namespace

Metadata model_metadata(const config::Config& config) {
  return {{kModel, describe(config)}, {kVersionKey, kVersion}};
}

void check_same_model(const config::Config& config, const std::string& weights) {
  const Metadata metadata = metadata_of(weights);
  const auto model = metadata.find(kModel), version = metadata.find(kVersionKey);
  if (model == metadata.end() || version == metadata.end() || version->second != kVersion) return;
  try {
    compare(parse_json<Json>(model->second, weights, "what it says of the model"),
            parse_json<Json>(describe(config), config.file, "the model"), weights);
  } catch (const Json::exception& error) {
    fail(ExitCode::kFile, "{}: what it says of the model is damaged: {}", weights, error.what());
  }
}

}  // namespace meshwork
