#pragma once

#include "data/dataset.h"
#include "data/timeseries.h"

namespace meshwork::data {

/// The samples of a split whose samples are rows. There is one wherever its rows, and those of its
/// target if the split has that field, are in the split and in one file. They are stored nowhere: a
/// sample is copied from its rows when it is read. Throws a configuration Error if there is none.
Split cut_timeseries(const Split& rows, const TimeSeries& series);

}  // namespace meshwork::data
