#include "spmd/segments.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "config/path_pattern.h"

namespace meshwork {
namespace {

using Mode = config::RematerializeSpec::Mode;

bool is_block_end(const config::LayerSpec& spec) { return spec.layer.name.empty(); }

/// Every layer and block once, in the order of the file, blocks after what stands in them.
std::vector<const config::LayerSpec*> parts_of(const config::ModelSpec& model) {
  std::vector<const config::LayerSpec*> parts;
  std::set<std::string> seen;
  for (const config::LayerSpec& spec : model.layers) {
    if (seen.insert(spec.path).second) parts.push_back(&spec);
  }
  return parts;
}

/// Of a layer or block; one without a value where the program has none of it.
NamedValue output_of(const Graph& forward, const config::LayerSpec& spec) {
  const std::string name = spec.path + "/output";
  const auto found = std::ranges::find(forward.layer_outputs, name, &NamedValue::name);
  return found != forward.layer_outputs.end() ? *found : NamedValue();
}

std::int64_t elements_per_sample(const Graph& forward, const NamedValue& output) {
  if (output.value == kNoValue) return 0;
  const Shape& shape = forward.type(output.value).shape;
  return num_elements(Shape(shape.begin() + 1, shape.end()));
}

void add_listed(const config::ModelSpec& model, const std::vector<config::PathRule>& rules,
                std::vector<Segment>& segments) {
  for (const config::PathRule& rule : rules) {
    const config::PathPattern pattern(rule.pattern, rule.at, "rematerialize");
    bool hit = false;
    std::vector<std::string> paths;
    for (const config::LayerSpec* spec : parts_of(model)) {
      paths.push_back(spec->path);
      if (!pattern.matches(spec->path)) continue;
      hit = true;
      segments.push_back({{spec->path}});
    }
    if (!hit) pattern.fail_unmatched(paths, "no layer and no block");
  }
}

/// The blocks that stand in fewer than `depth` others, and the layers outside of them.
std::vector<std::string> units_of(const config::ModelSpec& model, std::size_t depth) {
  std::vector<std::string> units;
  for (const config::LayerSpec* spec : parts_of(model)) {
    if (is_block_end(*spec)) continue;
    std::size_t end = spec->path.find('/');
    for (std::size_t d = 1; d < depth && end != std::string::npos; ++d) {
      end = spec->path.find('/', end + 1);
    }
    const std::string unit = spec->path.substr(0, end);
    if (units.empty() || units.back() != unit) units.push_back(unit);
  }
  return units;
}

/// In how many blocks the innermost layer stands.
std::size_t depth_of(const config::ModelSpec& model) {
  std::size_t depth = 0;
  for (const config::LayerSpec& spec : model.layers) {
    if (!is_block_end(spec)) depth = std::max(depth, spec.blocks.size());
  }
  return depth;
}

/// Segments of `size` units each.
std::vector<Segment> in_groups(const std::vector<std::string>& units, std::size_t size,
                               bool light) {
  std::vector<Segment> segments;
  for (std::size_t i = 0; i < units.size(); i += size) {
    const std::size_t end = std::min(i + size, units.size());
    segments.push_back({{units.begin() + static_cast<std::ptrdiff_t>(i),
                         units.begin() + static_cast<std::ptrdiff_t>(end)},
                        light});
  }
  return segments;
}

}  // namespace

std::vector<Segment> stated_segments(const config::Config& config, const Graph& forward) {
  std::vector<Segment> segments;
  const config::RematerializeSpec& stated = config.rematerialize;
  for (const config::LayerSpec* spec : parts_of(config.model)) {
    if (spec->rematerialize) segments.push_back({{spec->path}});
  }
  const bool asks_of_outputs =
      stated.mode == Mode::kLargerThan || stated.mode == Mode::kActivations;
  for (const config::LayerSpec* spec : parts_of(config.model)) {
    const NamedValue output = asks_of_outputs ? output_of(forward, *spec) : NamedValue();
    const bool larger = elements_per_sample(forward, output) > stated.output_size_threshold;
    if (stated.mode == Mode::kFull || (stated.mode == Mode::kLargerThan && larger)) {
      segments.push_back({{spec->path}});
    } else if (stated.mode == Mode::kActivations && output.activation) {
      segments.push_back({{spec->path}, true});
    }
  }
  add_listed(config.model, stated.layer_names, segments);
  return segments;
}

std::vector<std::vector<Segment>> segmentations(const config::ModelSpec& model) {
  const std::size_t depth = std::max<std::size_t>(depth_of(model), 1);
  const std::vector<std::string> units = units_of(model, depth);
  std::vector<std::vector<Segment>> ways;
  for (const bool light : {true, false}) {
    for (std::size_t d = depth + 1; d > 0; --d)
      ways.push_back(in_groups(units_of(model, d), 1, light));
    // 2, 3, 4, 6, 9, 13 ..
    for (std::size_t size = 2; size <= units.size(); size += std::max<std::size_t>(1, size / 2)) {
      ways.push_back(in_groups(units, size, light));
    }
  }
  return ways;
}

std::string to_string(const Segment& segment) {
  std::string text = segment.paths.front();
  if (segment.paths.size() > 1) text += " to " + segment.paths.back();
  if (segment.light) text += " (light)";
  return text;
}

std::string to_string(const std::vector<Segment>& segments, const std::vector<SegmentCost>& costs) {
  std::string text;
  for (std::size_t i = 0; i < segments.size(); ++i) {
    const SegmentCost& cost = costs[i];
    if (cost.values == 0) continue;
    text += fmt::format("again {}: {} values, {:.0f} bytes not kept, {:.0f} operations repeated\n",
                        to_string(segments[i]), cost.values, cost.bytes, cost.flops);
  }
  return text;
}

}  // namespace meshwork
