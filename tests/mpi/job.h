#pragma once

#include <string>

namespace meshwork::test {

/// How a job ended.
struct Ending {
  int exit_code = -1;  ///< 124 where it had to be stopped
  double seconds = 0;
  std::string output;  ///< of all ranks and of mpirun, both streams
};

/// Runs a shell command in which "mpirun" stands for $MESHWORK_TEST_MPIRUN.
Ending run_job(const std::string& command);

}  // namespace meshwork::test
