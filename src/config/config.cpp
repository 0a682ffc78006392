#include "config/config.h"

#include <filesystem>

#include "config/sections.h"
#include "config/weights_sizes.h"
#include "config/yaml.h"

namespace meshwork::config {
namespace {

/// Sections of the file; null where they are left out. They are read when all keys are known to be
/// right, so that a misspelt one is named before what it has left out.
struct Sections {
  const Value* layout_map;
  const Value* strategy;
  const Value* optimizer_layout;
  const Value* unmatched_rules;
  const Value* batch_axis;
  const Value* max_replicated;
  const Value* keep_gathered;
  const Value* rematerialize;
  const Value* memory_limit;
  const Value* dataset;
  const Value* weights_map;
  const Value* blocks;
  const Value* model;
  const Value* compile;
  const Value* fit;
  const Value* checkpoint;
  const Value* resume;
};

Sections find_sections(Reader& reader) {
  return {.layout_map = reader.find("layout_map"),
          .strategy = reader.find("strategy"),
          .optimizer_layout = reader.find("optimizer_layout"),
          .unmatched_rules = reader.find("unmatched_rules"),
          .batch_axis = reader.find("batch_axis"),
          .max_replicated = reader.find("max_replicated"),
          .keep_gathered = reader.find("keep_gathered"),
          .rematerialize = reader.find("rematerialize"),
          .memory_limit = reader.find("memory_limit"),
          .dataset = reader.find("dataset"),
          .weights_map = reader.find("weights_map"),
          .blocks = reader.find("blocks"),
          .model = reader.find("model"),
          .compile = reader.find("compile"),
          .fit = reader.find("fit"),
          .checkpoint = reader.find("checkpoint"),
          .resume = reader.find("resume")};
}

/// The first layout that a layer gives itself.
const LayoutRule* layout_of_layer(const ModelSpec& model) {
  for (const LayerSpec& layer : model.layers) {
    if (!layer.layouts.empty()) return &layer.layouts[0];
  }
  return nullptr;
}

void read_strategy(const Value* strategy, const Value* map, Config& config) {
  const LayoutRule* of_layer = layout_of_layer(config.model);
  const bool has_layouts = map != nullptr || of_layer != nullptr;
  config.strategy = has_layouts ? Strategy::kModelParallel : Strategy::kDataParallel;
  if (strategy != nullptr) {
    const bool model =
        choose<bool>(*strategy, "strategy", {{"data_parallel", false}, {"model_parallel", true}});
    if (model && !has_layouts) {
      fail_at(strategy->at,
              "strategy model_parallel needs a layout_map; {{}} is one without rules");
    }
    if (!model && map != nullptr) {
      fail_at(strategy->at,
              "strategy data_parallel takes no layout_map; remove it (on the command "
              "line: layout_map=null), or write model_parallel");
    }
    if (!model && of_layer != nullptr) {
      fail_at(
          strategy->at,
          "strategy data_parallel takes no layouts, but a layer has its {}_layout at {}; remove "
          "it, or write model_parallel",
          of_layer->pattern, to_string(of_layer->at));
    }
  }
  config.layout_map = read_layout_rules(map, config.mesh, "layout_map");
}

std::optional<MaxReplicated> read_max_replicated(const Value* value) {
  if (value == nullptr) return std::nullopt;
  const double part = value->as_real("max_replicated");
  if (!(part >= 0 && part <= 1)) {
    fail_at(value->at, "max_replicated is {:g}; give a part of the weights' bytes, from 0 to 1",
            part);
  }
  return MaxReplicated{part, value->at};
}

void read_parallelism(const Sections& sections, Config& config) {
  read_strategy(sections.strategy, sections.layout_map, config);
  if (sections.unmatched_rules != nullptr) {
    config.unmatched_rules = choose<UnmatchedRules>(*sections.unmatched_rules, "unmatched_rules",
                                                    {{"error", UnmatchedRules::kError},
                                                     {"warn", UnmatchedRules::kWarn},
                                                     {"ignore", UnmatchedRules::kIgnore}});
  }
  config.optimizer_layout =
      read_layout_rules(sections.optimizer_layout, config.mesh, "optimizer_layout");
  if (sections.batch_axis != nullptr) {
    config.batch_axis = read_axes(*sections.batch_axis, config.mesh, "batch_axis");
  } else {
    config.batch_axis = {config.mesh.axes.front().first};
  }
  config.max_replicated = read_max_replicated(sections.max_replicated);
  if (sections.keep_gathered != nullptr) {
    config.keep_gathered = sections.keep_gathered->as_bool("keep_gathered");
  }
  config.rematerialize = read_rematerialize(sections.rematerialize);
  config.memory_limit = read_memory_limit(sections.memory_limit);
}

FusionSpec read_fusion(const Value* value) {
  FusionSpec fusion;
  if (value == nullptr) return fusion;
  if (value->is_scalar()) {
    fusion.all = value->as_bool("fusion");
    return fusion;
  }
  if (!value->is_map()) {
    fail_at(value->at,
            "fusion must be true, false or a map of names, such as {{elementwise: false}}, not "
            "{}",
            describe(*value));
  }
  for (const Value::Entry& entry : value->map) {
    fusion.choices.push_back({entry.key, entry.value.as_bool("fusion: " + entry.key), entry.at});
  }
  return fusion;
}

DebugSpec read_debug(const Value* value) {
  DebugSpec debug;
  if (value == nullptr) return debug;
  Reader reader(*value, "debug");
  debug.check_numerics = reader.get("check_numerics", debug.check_numerics);
  reader.finish();
  return debug;
}

std::string read_run_directory(Reader& reader, const std::string& file) {
  const Value* directory = reader.find("run_directory");
  if (directory == nullptr) return "runs/" + std::filesystem::path(file).stem().string();
  std::string path = directory->as_string("run_directory");
  if (path.empty()) fail_at(directory->at, "run_directory is empty; name a folder");
  if (path == "~" || path.starts_with("~/")) {
    fail_at(directory->at,
            "run_directory '{}': ~ is a home directory to shells alone; write the whole path, or "
            "./{} for a folder of that name",
            path, path);
  }
  while (path.size() > 1 && path.ends_with('/')) path.pop_back();  // --new adds a number to it
  return path;
}

std::string resolved_text(Value root, const MeshSpec& mesh) {
  const auto number = [](std::int64_t value) { return Value::of_text(std::to_string(value)); };
  Value axes;
  for (const auto& [name, size] : mesh.axes) axes.insert(name, {}).value = number(size);
  Value& written = root.insert("mesh", {}).value;
  if (mesh.devices.empty()) {
    written = std::move(axes);
    return to_yaml(root);
  }
  written = Value{};
  written.insert("axes", {}).value = std::move(axes);
  Value& devices = written.insert("devices", {}).value;
  devices.kind = Value::Kind::kList;
  for (const int device : mesh.devices) devices.list.push_back(number(device));
  return to_yaml(root);
}

}  // namespace

Precision read_precision(const Value& value, std::string_view what) {
  return choose<Precision>(value, what,
                           {{"float32", Precision::kFloat32},
                            {"mixed_bfloat16", Precision::kMixedBFloat16},
                            {"mixed_float16", Precision::kMixedFloat16}});
}

DType compute_dtype(Precision precision) {
  if (precision == Precision::kMixedBFloat16) return DType::kBFloat16;
  return precision == Precision::kMixedFloat16 ? DType::kFloat16 : DType::kFloat32;
}

std::string to_string(Precision precision) {
  const std::string_view dtype = meshwork::to_string(compute_dtype(precision));
  return (precision == Precision::kFloat32 ? "" : "mixed_") + std::string(dtype);
}

namespace {

/// In what precision the program computes, and on which devices.
void read_devices(Reader& reader, const std::string& mesh, Config& config) {
  if (const Value* precision = reader.find("precision")) {
    config.precision = read_precision(*precision, "precision");
  }
  config.tensor_float32 = reader.get("tensor_float_32", config.tensor_float32);
  if (const Value* device = reader.find("device")) {
    config.device = choose<DeviceKind>(*device, "device",
                                       {{"cpu", DeviceKind::kCpu},
                                        {"cuda", DeviceKind::kCuda},
                                        {"gpu", DeviceKind::kCuda},
                                        {"auto", DeviceKind::kAuto}});
  }
  if (const Value* collectives = reader.find("collectives")) {
    config.collectives =
        choose<Collectives>(*collectives, "collectives",
                            {{"canonical", Collectives::kCanonical}, {"nccl", Collectives::kNccl}});
  }
  config.mesh = read_mesh(reader.find("mesh"), mesh);
}

/// What is checked and where results go.
void read_run(Reader& reader, Config& config) {
  if (const Value* stall = reader.find("stall_timeout")) {
    config.stall_timeout = read_stall_timeout(*stall);
  }
  config.debug = read_debug(reader.find("debug"));
  if (const Value* labels = reader.find("labels")) {
    config.check_labels =
        choose<bool>(*labels, "labels", {{"checked", true}, {"unchecked", false}});
  }
  config.fusion = read_fusion(reader.find("fusion"));
  config.run_directory = read_run_directory(reader, config.file);
}

void read_sections(const Sections& sections, const Location& whole, Config& config) {
  if (sections.model == nullptr) fail_at(whole, "the configuration needs the key 'model'");
  config.model = read_model(*sections.model, sections.blocks, config.mesh);
  read_parallelism(sections, config);
  if (sections.compile != nullptr) {
    config.compile = read_compile(*sections.compile, config.model, config.precision);
  }
  config.fit = read_fit(sections.fit, whole);
  config.checkpoint = read_checkpoint(sections.checkpoint, sections.resume, whole);
  if (sections.dataset != nullptr) config.dataset = read_dataset(*sections.dataset, config.file);
  if (sections.weights_map != nullptr) config.weights_map = *sections.weights_map;
}

/// The sizes of another model come before assignments, one of which may name the map for them.
void apply_command_line(Value& root, const Location& whole, Overrides overrides) {
  if (!overrides.sizes_of.empty()) {
    Value assigned = root;
    apply_overrides(assigned, whole, overrides);
    const auto sizes = assignments_of_sizes(assigned, whole.file, overrides.sizes_of);
    overrides.assignments.insert(overrides.assignments.begin(), sizes.begin(), sizes.end());
  }
  apply_overrides(root, whole, overrides);
}

Config read_config(Value root, const std::string& file, const Overrides& overrides) {
  const Location whole{file, 0, 0};
  apply_command_line(root, whole, overrides);
  Reader reader(root, "the configuration");
  Config config;
  config.file = file;
  if (const Value* seed = reader.find("seed")) config.seed = seed->as_unsigned("seed");
  read_devices(reader, overrides.mesh, config);
  const Sections sections = find_sections(reader);
  read_run(reader, config);
  reader.finish();
  read_sections(sections, whole, config);
  config.text = resolved_text(std::move(root), config.mesh);
  return config;
}

}  // namespace

Config load_config(const std::string& file, const Overrides& overrides) {
  return read_config(load_yaml(file), file, overrides);
}

Config parse_config(const std::string& text, const std::string& file, const Overrides& overrides) {
  return read_config(parse_yaml(text, file), file, overrides);
}

}  // namespace meshwork::config
