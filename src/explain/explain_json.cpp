#include <fmt/format.h>

#include <array>
#include <nlohmann/json.hpp>

#include "base/json.h"
#include "explain/explain_text.h"
#include "explain/words.h"
#include "job/mesh_json.h"

namespace meshwork {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kMaxDevices = 4096;

/// Which device is at each position of the mesh, if not 0, 1, 2, ..
void add_order(Json& json, const Mesh& mesh) {
  if (!mesh.devices.empty()) json["mesh_devices"] = mesh.devices;
}

const char* name_of_collectives(bool by_nccl) { return by_nccl ? "nccl" : "canonical"; }

const char* name_of(TransferCause cause) {
  static constexpr std::array kNames{"itself", "gradient", "new value", "sum over it",
                                     "inside the layer"};
  return kNames[static_cast<std::size_t>(cause)];
}

const char* name_of(AxisOrigin::Kind kind) {
  static constexpr std::array kNames{"data", "variable", "output", "scattered sum", "layer"};
  return kNames[static_cast<std::size_t>(kind)];
}

void add_rule(Json& json, const std::optional<config::LayoutRule>& rule) {
  json["rule"] = rule ? Json(rule->pattern) : Json(nullptr);
  if (rule) json["rule_at"] = config::to_string(rule->at);
}

Json transfer_json(const Transfer& transfer, TransferCause cause, const Mesh& mesh) {
  Json json{{"cause", name_of(cause)},
            {"phase", phase_name(transfer.phase)},
            {"layer", transfer.layer},
            {"readers", transfer.readers},
            {"value", transfer.name.empty() ? Json(nullptr) : Json(transfer.name)},
            {"op", transfer.op},
            {"maker", transfer.maker},
            {"from", to_string(transfer.from, mesh)},
            {"to", to_string(transfer.to, mesh)},
            {"collectives", Json::array()},
            {"bytes_per_device", transfer.bytes}};
  for (std::size_t i = 0; i < transfer.steps.size(); ++i) {
    json["collectives"].push_back({{"kind", to_string(transfer.steps[i].kind)},
                                   {"axes", mesh.axis_names(transfer.steps[i].axes)},
                                   {"bytes_per_device", transfer.step_bytes[i]}});
  }
  return json;
}

Json devices_json(const ValueExplanation& value, const Mesh& mesh) {
  Json devices = Json::array();
  const int count = std::min(mesh.num_devices(), kMaxDevices);
  for (int device = 0; device < count; ++device) {
    const Shape shape = local_shape(value.type.shape, value.layout, mesh, device);
    devices.push_back(
        {{"device", device},
         {"offset", local_region(value.type.shape, value.layout, mesh, device).offset},
         {"shape", shape},
         {"bytes", num_bytes({value.type.dtype, shape})}});
  }
  return devices;
}

Json origin_json(const AxisOrigin& origin, const Mesh& mesh) {
  Json json{{"axis", mesh.names[static_cast<std::size_t>(origin.axis)]},
            {"dimension", origin.dim},
            {"with", origin.through.empty() ? Json(nullptr) : Json(origin.through)},
            {"with_dimension", origin.through_dim},
            {"begins", name_of(origin.kind)},
            {"at", origin.root},
            {"at_dimension", origin.root_dim}};
  add_rule(json, origin.rule);
  return json;
}

Json value_json(const ValueExplanation& value, const Explanation& explanation, const Mesh& mesh) {
  Json json{{"path", value.path},
            {"kind", describe(value.kind)},
            {"dtype", to_string(value.type.dtype)},
            {"shape", value.type.shape},
            {"bytes", num_bytes(value.type)},
            {"layout", value.local ? Json(nullptr) : Json(to_string(value.layout, mesh))}};
  add_rule(json, value.rule);
  json["like"] = value.like.empty() ? Json(nullptr) : Json(value.like);
  json["origins"] = Json::array();
  for (const AxisOrigin& origin : value.origins) {
    json["origins"].push_back(origin_json(origin, mesh));
  }
  json["devices"] = devices_json(value, mesh);
  json["moves"] = Json::array();
  double bytes = 0;
  for (const CausedMove& caused : value.transfers) {
    const Transfer& transfer = explanation.transfers[caused.transfer];
    json["moves"].push_back(transfer_json(transfer, caused.cause, mesh));
    bytes += transfer.bytes;
  }
  json["sent_per_device"] = bytes;
  return json;
}

Json memory_json(const PlannedMemory& memory) {
  const MemoryUse& use = memory.use;
  return {{"device", memory.device},    {"arena", use.arena()}, {"weights", use.weights},
          {"optimizer", use.optimizer}, {"step", use.step},     {"collectives", use.collectives},
          {"samples", use.samples},     {"data", memory.data}};
}

}  // namespace

std::string explain_json(const Explanation& explanation, const Mesh& mesh) {
  Json json{{"mesh", mesh_json(mesh)},
            {"training", explanation.training},
            {"collectives", name_of_collectives(explanation.by_nccl)},
            {"values", Json::array()},
            {"inside", Json::array()}};
  add_order(json, mesh);
  for (const ValueExplanation& value : explanation.values) {
    json["values"].push_back(value_json(value, explanation, mesh));
  }
  for (const std::size_t i : explanation.inside) {
    json["inside"].push_back(transfer_json(explanation.transfers[i], TransferCause::kInside, mesh));
  }
  return json_dump(json, 2) + "\n";
}

std::string summary_json(const ModelSummary& summary, const Mesh& mesh) {
  Json json{{"mesh", mesh_json(mesh)},
            {"training", summary.training},
            {"collectives", name_of_collectives(summary.by_nccl)},
            {"layers", Json::array()}};
  for (const SummaryRow& row : summary.rows) {
    Json layer{{"name", row.name},
               {"class", row.class_name},
               {"output_shape", Json::array()},
               {"parameters", row.parameters},
               {"inputs", row.inputs},
               {"layout", row.layout.empty() ? Json(nullptr) : Json(row.layout)},
               {"variables", Json::object()}};
    for (std::size_t d = 0; d < row.shape.size(); ++d) {
      layer["output_shape"].push_back(d == 0 ? Json(nullptr) : Json(row.shape[d]));
    }
    for (const SummaryRow::Weight& weight : row.variables) {
      layer["variables"][weight.name] = weight.layout;
    }
    json["layers"].push_back(std::move(layer));
  }
  add_order(json, mesh);
  json["outputs"] = summary.outputs;
  const std::int64_t weights = summary.weights.parameters;
  json["totals"] = {{"parameters", weights},
                    {"trainable", weights - summary.non_trainable},
                    {"non_trainable", summary.non_trainable},
                    {"optimizer", summary.slots.parameters},
                    {"weight_bytes_per_device", summary.weights.bytes},
                    {"optimizer_bytes_per_device", summary.slots.bytes},
                    {"sent_per_device", summary.sent},
                    {"collectives", summary.transfers}};
  json["rematerialize"] = {{"segments", summary.again},
                           {"bytes_not_kept_per_device", summary.again_cost.bytes},
                           {"operations_repeated_per_device", summary.again_cost.flops}};
  json["memory"] = summary.memory ? memory_json(*summary.memory) : Json(nullptr);
  return json_dump(json, 2) + "\n";
}

}  // namespace meshwork
