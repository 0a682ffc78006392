#include "train/pulse.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/clock.h"

namespace meshwork {
namespace {

constexpr double kSeconds = 0.1;

struct Message {
  std::int64_t signal = 0;
  std::int64_t is_due = 0;
  std::int64_t has_written = 0;
  double seconds_per_step = 0;
};

}  // namespace

std::optional<Signs> Pulse::after_step(const Signs& mine) {
  if (++steps_ < wait_) return std::nullopt;
  return ask(mine);
}

Signs Pulse::ask(const Signs& mine) {
  const double now = steady_seconds();
  const Message message{mine.signal, mine.is_due ? 1 : 0, mine.has_written ? 1 : 0,
                        (now - last_) / static_cast<double>(std::max<std::int64_t>(1, steps_))};
  Signs signs;
  double slowest = 0;
  for (const Message& other : gather_all(hosts_, message)) {
    signs.signal = std::max(signs.signal, static_cast<int>(other.signal));
    signs.is_due = signs.is_due || other.is_due != 0;
    signs.has_written = signs.has_written && other.has_written != 0;
    slowest = std::max(slowest, other.seconds_per_step);
  }
  const double steps = std::floor(kSeconds / std::max(slowest, kSeconds / 1e6));
  // The first steps may be quick, on data that were read ahead: so not many more than last time.
  wait_ = std::clamp<std::int64_t>(static_cast<std::int64_t>(steps), 1, 2 * wait_);
  steps_ = 0;
  last_ = now;
  return signs;
}

}  // namespace meshwork
