#pragma once

#include <future>

#include "data/dataset.h"

namespace meshwork::data {

/// Has the samples of a split that lie in memory brought there on a thread of its own, field by
/// field; the result waits for its end when it goes. What goes wrong is left for those who need the
/// samples to find again.
std::future<void> prepare(const Split& split);

}  // namespace meshwork::data
