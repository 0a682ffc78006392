#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "explain/plan_report.h"

namespace meshwork {

/// Rules to be written beside those of the file.
struct SuggestedRules {
  std::vector<config::LayoutRule> layout_map, optimizer_layout;
  bool empty() const { return layout_map.empty() && optimizer_layout.empty(); }
};

/// What rules make of a training step.
struct Suggestion {
  Mesh mesh;
  SuggestedRules rules;
  PlanReport before, after;
  /// What a step costs, in bytes that a device could send in that time.
  double work_before = 0, work_after = 0;
  std::int64_t tried = 0;   ///< layouts that were compiled
  bool fits = true;         ///< into memory_limit, if the file has one,
  bool recomputes = false;  ///< because parts of the step are computed again
};

/// Searches a layout for every weight that no rule lays out (search_layouts()): along the axes that
/// do not split the batch; where a step does not fit into memory_limit along all, and for the
/// optimizer's state if no rule lays that out. What a step costs is what it sends and computes on
/// the device that has most of both, weighed as the compiler weighs them. Where no layout fits into
/// memory_limit, parts of the step are computed again to meet it: under the rules of the file, or
/// else those that were found. Of a job with data and a `compile:` section.
Suggestion suggest_layouts(const Job& job);

/// The layout map to be written into the file, and what comes of it.
std::string suggestion_text(const Suggestion& suggestion);
/// A line for each mesh, and the layout map for the one on which a step costs least.
std::string suggestions_text(const std::vector<Suggestion>& suggestions);
/// An object for one mesh, an array of such for several.
std::string suggestion_json(const Suggestion& suggestion);
std::string suggestions_json(const std::vector<Suggestion>& suggestions);

}  // namespace meshwork
