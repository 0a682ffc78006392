#pragma once

#include <cstdint>
#include <optional>

#include "comm/host_group.h"

namespace meshwork {

/// What a device has to tell the others between two steps; and what all of them together say.
struct Signs {
  int signal = 0;           ///< that asks the job to end: of any device
  bool is_due = false;      ///< a checkpoint, by the clock of any device
  bool has_written = true;  ///< nothing of a checkpoint is left to write: on every device
};

/// Lets devices tell each other so every tenth of a second, and not at every step: after a step
/// whose number all of them know. At the beginning at every step, and then after twice as many each
/// time, until a tenth of a second passes between two.
class Pulse {
 public:
  explicit Pulse(HostGroup& hosts) : hosts_(hosts) {}

  /// To be called after every step, by all devices. Nothing where it is not time yet.
  std::optional<Signs> after_step(const Signs& mine);

  /// Asks at once.
  Signs ask(const Signs& mine);

 private:
  HostGroup& hosts_;
  std::int64_t steps_ = 0;  ///< since the last time
  std::int64_t wait_ = 1;   ///< steps from then to the next
  double last_ = 0;         ///< seconds of the clock
};

}  // namespace meshwork
