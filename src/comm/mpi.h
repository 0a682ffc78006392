#pragma once

#include <memory>
#include <string>

#include "comm/communicator.h"
#include "comm/wait_watch.h"

namespace meshwork {

/// MPI from here to the end of the scope; at most one in a process.
///
/// Left by an exception it does not finalise, which would wait for the others: the process is then
/// to exit with a code other than 0, upon which mpirun ends the other ranks.
class MpiSession {
 public:
  /// Initialises MPI, which takes some 0.3 s. Throws Error where the world is not the one that the
  /// environment announced (launch_from_environment).
  ///
  /// At the end of the scope a rank waits for the others; not longer than `patience` in seconds, if
  /// that is above 0: then it says so, and ends the process with ExitCode::kCommunication. So it
  /// does several times as long from here on, until its HostGroup is watched by others (WaitWatch).
  explicit MpiSession(double patience = 0);
  ~MpiSession();
  MpiSession(const MpiSession&) = delete;
  MpiSession& operator=(const MpiSession&) = delete;

  /// What this rank has of all ranks of the job. All call it together.
  World world();

 private:
  void leave_alone_after(double seconds) const;

  int exceptions_;
  double patience_;
  int rank_ = 0;
  std::shared_ptr<WaitWatch> watch_;
};

/// Of the library: "Open MPI v4.1.4".
std::string mpi_version();

/// Lets rank 0 speak first when all ranks fail alike: mpirun ends the job as soon as one of them
/// has exited. Other ranks wait here; the exit of rank 0 ends their waiting, so it costs nothing.
void let_rank_0_speak(int rank);

}  // namespace meshwork
