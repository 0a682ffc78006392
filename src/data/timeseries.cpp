#include "data/timeseries.h"

#include <algorithm>

#include "base/names.h"
#include "base/nearest.h"

namespace meshwork::data {
namespace {

using config::fail_at;

std::vector<std::string> read_targets(config::Reader& keys,
                                      const std::vector<std::string>& fields) {
  const config::Value* value = keys.find("targets");
  if (value == nullptr) return {names::kLabels, names::kSampleWeight};
  std::vector<std::string> targets;
  for (const config::Value& item : value->is_list() ? value->list : std::vector{*value}) {
    targets.push_back(item.as_string("targets"));
    if (std::ranges::count(fields, targets.back()) > 0) continue;
    fail_at(item.at, "timeseries: targets: there is no field '{}'{}", targets.back(),
            suggestion(targets.back(), fields));
  }
  return targets;
}

}  // namespace

TimeSeries read_timeseries(const config::Value& value, const std::vector<std::string>& fields) {
  // Products of two of them, and sums, stay far below 2^63.
  constexpr double kMost = 1e9;
  constexpr config::Range kRows = config::between(1, kMost);
  config::Reader keys(value, "timeseries");
  TimeSeries series;
  series.at = value.at;
  series.sequence_length = keys.require_integer("sequence_length", kRows);
  series.sampling_rate = keys.get("sampling_rate", 1, kRows);
  series.sequence_stride = keys.get("sequence_stride", 1, kRows);
  series.delay =
      keys.get("delay", series.sequence_length * series.sampling_rate, config::between(0, kMost));
  series.target_length = keys.get_integer("target_length", kRows);
  series.targets = read_targets(keys, fields);
  keys.finish();
  return series;
}

}  // namespace meshwork::data
