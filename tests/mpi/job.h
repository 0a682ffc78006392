#pragma once

#include <string>

namespace meshwork::test {

/// How a job ended.
struct Ending {
  int exit_code = -1;  ///< 124 or 137 where it had to be stopped
  double seconds = 0;
  std::string output;  ///< of all ranks and of mpirun, both streams
};

/// Runs a shell command in which "mpirun" stands for $MESHWORK_TEST_MPIRUN.
Ending run_job(const std::string& command);

/// For the shell: waits until there is a file of that pattern, or process $P has ended.
std::string wait_for(const std::string& pattern);

/// For the shell: the process of a rank that the mpirun of process $P has started here. These are
/// in no order.
std::string process_of(int rank);

/// Seconds within which a job that fails has to end: 30, and ten times what a job of that many
/// ranks takes in which each runs `program` (which is to do nothing), now and on this machine. A
/// host may keep the cores for itself for ten seconds at a time; what hangs takes 120 s or more.
double quick_seconds(int ranks, const std::string& program);

}  // namespace meshwork::test
