#include "cli/rank.h"

#include "base/error.h"
#include "machine/launch.h"

namespace meshwork::cli {

int launched_rank() noexcept {
  try {
    return launch_from_environment().rank;
  } catch (const Error&) {
    return 0;  // a broken environment is reported by whoever needs more than the rank
  }
}

int launched_devices() {
  const JobLaunch launch = launch_from_environment();
  return launch.by_mpirun ? launch.size : 0;
}

}  // namespace meshwork::cli
