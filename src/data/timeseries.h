#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "config/value.h"

namespace meshwork::data {

/// How samples are cut from rows in the order of time. The names are those of Keras's
/// timeseries_dataset_from_array; a sample's target is its targets[i] where these are the rows from
/// `delay` on.
///
///     timeseries:
///       sequence_length: 120   # rows of a sample
///       sampling_rate: 6       # from row to row of a sample; 1 by default
///       sequence_stride: 1     # from sample to sample
///       delay: 720             # from a sample's first row to its target; by default the next row
///                              # at this rate
///       target_length: 24      # so many rows, of the same rate, are a target; by default it is
///                              # one row, without a dimension for time
///       targets: [y]           # the fields that are; by default y and sample_weight
struct TimeSeries {
  std::int64_t sequence_length = 1;
  std::int64_t sampling_rate = 1;
  std::int64_t sequence_stride = 1;
  std::int64_t delay = 1;
  std::optional<std::int64_t> target_length;
  std::vector<std::string> targets;
  config::Location at;
};

/// Throws a configuration Error with place for what is unknown or wrong. `fields` are those of the
/// dataset.
TimeSeries read_timeseries(const config::Value& value, const std::vector<std::string>& fields);

}  // namespace meshwork::data
