#pragma once

#include <signal.h>

#include <semaphore>
#include <string>
#include <thread>
#include <vector>

namespace meshwork {

/// To be called first in main: the signals of StopSignals for which a library has set a handler
/// while it was loaded end the process again. UCX, which Open MPI 5 links, takes SIGHUP for a wish
/// to print more. What was ignored stays so.
void drop_handlers_of_libraries();

/// While it lives, the signals of StopSignals reach a thread that does nothing else, and neither
/// this thread nor one that is started meanwhile. In products of oneDNN the stack pointer points
/// into the heap: a handler that the system calls there writes over what lies before it.
class SignalThread {
 public:
  SignalThread();
  ~SignalThread();
  SignalThread(const SignalThread&) = delete;
  SignalThread& operator=(const SignalThread&) = delete;

 private:
  sigset_t before_{};  ///< what this thread blocked
  std::binary_semaphore end_{0};
  std::thread thread_;
};

/// While it lives, signals that ask a job to end are noted and change nothing else: SIGTERM,
/// SIGUSR1 (Slurm's warning), SIGHUP (a closed terminal) and SIGINT (Ctrl-C), unless the process
/// was started with them ignored (nohup). A second SIGINT ends the process at once. A closed pipe
/// is an error of the write, not a signal. One at a time in a process.
class StopSignals {
 public:
  StopSignals();
  ~StopSignals();
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;

  /// The process ends as it was asked to: what asks again is ignored, also when this is gone. But
  /// for SIGINT, which ends it at once.
  void ignore_rest();

 private:
  struct Before;
  std::vector<Before> before_;
};

/// The first of these signals that came; 0 while none has.
int noted_signal();

/// "SIGTERM".
std::string signal_name(int signal);

}  // namespace meshwork
