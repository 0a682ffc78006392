#include <nlohmann/json.hpp>

#include "base/json.h"
#include "explain/plan_report.h"
#include "explain/words.h"
#include "job/mesh_json.h"

namespace meshwork {
namespace {

using Json = nlohmann::ordered_json;

Json sent_json(const PlanReport& report) {
  Json rows = Json::array();
  for (const SentRow& row : report.sent) {
    rows.push_back({{"phase", phase_name(row.phase)},
                    {"layer", row.layer},
                    {"value", row.value},
                    {"from", row.from},
                    {"to", row.to},
                    {"collectives", row.collectives},
                    {"count", row.count},
                    {"bytes", row.bytes}});
  }
  return rows;
}

Json fullest_json(const FullestStep& fullest) {
  Json json{{"phase", phase_name(fullest.phase)},
            {"at", fullest.place},
            {"bytes", fullest.bytes},
            {"held", Json::array()}};
  for (const HeldRow& row : fullest.held) {
    json["held"].push_back({{"value", row.value}, {"count", row.count}, {"bytes", row.bytes}});
  }
  return json;
}

Json memory_json(const PlanReport& report) {
  const MemoryUse& use = report.memory.use;
  return {{"device", report.memory.device},
          {"bytes", use.bytes()},
          {"weights", use.weights},
          {"optimizer", use.optimizer},
          {"step", use.step},
          {"collectives", use.collectives},
          {"samples", use.samples},
          {"data", report.memory.data},
          {"fullest", fullest_json(report.fullest)}};
}

Json operations_json(const PlanReport& report) {
  return {{"device", report.most.device},     {"forward", report.most.forward},
          {"backward", report.most.backward}, {"update", report.most.update},
          {"all", report.most.all()},         {"least", report.least.all()}};
}

Json time_json(const PlanReport& report, double link) {
  if (!report.time) return nullptr;
  const StepTime time = step_time(report, link);
  return {{"computes", time.computes}, {"threads", report.time->threads},
          {"sends", time.sends},       {"link", link},
          {"least", time.least()},     {"most", time.most()}};
}

Json json_of(const MeshPlan& plan, double link) {
  const PlanReport& report = plan.report;
  return {
      {"mesh", mesh_json(plan.mesh)},
      {"batch", report.batch},
      {"sends",
       {{"bytes", report.sent_bytes},
        {"collectives", report.collectives},
        {"calls", report.calls},
        {"accumulating", {{"steps", report.accumulating}, {"bytes", report.accumulating_bytes}}},
        {"rows", sent_json(report)}}},
      {"memory", memory_json(report)},
      {"operations", operations_json(report)},
      {"seconds", time_json(report, link)}};
}

}  // namespace

std::string plan_json(const MeshPlan& plan, double link) {
  return json_dump(json_of(plan, link), 2) + "\n";
}

std::string plans_json(const std::vector<MeshPlan>& plans, double link) {
  Json all = Json::array();
  for (const MeshPlan& plan : plans) all.push_back(json_of(plan, link));
  return json_dump(all, 2) + "\n";
}

}  // namespace meshwork
