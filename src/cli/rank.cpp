#include "cli/rank.h"

#include "base/error.h"
#include "comm/launch.h"

namespace meshwork::cli {

int launched_rank() noexcept {
  try {
    return launch_from_environment().rank;
  } catch (const Error&) {
    return 0;  // a broken environment is reported by whoever needs more than the rank
  }
}

}  // namespace meshwork::cli
