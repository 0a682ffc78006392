#include "base/clock.h"

#include <chrono>

namespace meshwork {

double steady_seconds() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration<double>(now).count();
}

}  // namespace meshwork
