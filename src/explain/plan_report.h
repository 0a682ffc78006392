#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "explain/draw/pen.h"
#include "explain/explain.h"
#include "job/memory_report.h"
#include "job/step_alone.h"

namespace meshwork {

/// Reshards of a step that differ in nothing but numbers in paths, as those of repeated blocks do.
struct SentRow {
  Phase phase = Phase::kForward;
  std::string layer;  ///< that asks, "block*/attention"
  std::string value;  ///< that is moved, "block*/attention/query/kernel"
  std::string from, to;
  std::vector<std::string> collectives;  ///< "all_gather over model"; a slice sends nothing
  std::int64_t count = 0;
  double bytes = 0;  ///< of all together, that a device sends, on average
};

/// Values in a device's memory at one time that differ in nothing but numbers in paths.
struct HeldRow {
  std::string value;
  std::int64_t count = 0;
  std::int64_t bytes = 0;  ///< of all together
};

/// What the step has most of its memory for.
struct FullestStep {
  Phase phase = Phase::kForward;
  std::string place;       ///< "einsum of d1"
  std::int64_t bytes = 0;  ///< in use
  std::vector<HeldRow> held;
};

/// Floating-point operations of a device in a step.
struct Operations {
  int device = 0;
  double forward = 0, backward = 0, update = 0;
  double all() const { return forward + backward + update; }
};

/// What a training step takes, before any is done.
struct PlanReport {
  std::int64_t batch = 0;
  std::vector<SentRow> sent;
  double sent_bytes = 0;          ///< of a device, on average
  std::int64_t collectives = 0;   ///< that the step needs,
  std::int64_t calls = 0;         ///< and how many starts they are joined into
  std::int64_t accumulating = 0;  ///< steps before it that only accumulate gradients
  double accumulating_bytes = 0;  ///< that a device sends in each of these, on average
  PlannedMemory memory;
  FullestStep fullest;  ///< of the device that takes most
  Operations most, least;
  std::optional<TimeAlone> time;  ///< of the device with most operations
};

/// Of a job with data and a `compile:` section, whose program was compiled with `trace`. Adds the
/// programs of fit. `is_timed`: computes some steps.
PlanReport report_plan(Job& job, const CompileTrace& trace, bool is_timed);

Operations operations_of(const Plan& plan, int device);
/// Collectives that it starts.
std::int64_t calls_of(const Plan& plan);

/// How long a step takes, in seconds.
struct StepTime {
  double computes = 0;
  double sends = 0;
  /// The first where all that is sent goes on behind what is computed, the second where nothing is.
  double least() const { return computes > sends ? computes : sends; }
  double most() const { return computes + sends; }
};
/// `link`: bytes that a device sends in a second.
StepTime step_time(const PlanReport& report, double link);

std::string plan_text(const PlanReport& report, const Mesh& mesh, double link, const Pen& pen);

/// Reports of one configuration on several meshes, a line for each.
struct MeshPlan {
  Mesh mesh;
  PlanReport report;
};
std::string plans_text(const std::vector<MeshPlan>& plans, double link);
/// An object for one mesh, an array of such for several.
std::string plan_json(const MeshPlan& plan, double link);
std::string plans_json(const std::vector<MeshPlan>& plans, double link);

}  // namespace meshwork
