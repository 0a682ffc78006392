#pragma once

namespace meshwork {

/// Of a clock that never goes back, from any beginning.
double steady_seconds();

}  // namespace meshwork
