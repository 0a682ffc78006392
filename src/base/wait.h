#pragma once

#include <chrono>

namespace meshwork {

/// How long a thread that waits for others spins before it sleeps: long beside a wait that is as
/// good as over, short beside the slice of a core (milliseconds) that it keeps from whom it waits
/// for, or from another program.
constexpr std::chrono::microseconds kSpinTime{300};

/// kSpinTime, or what the user says by OMP_WAIT_POLICY: active is a second, passive nothing.
/// Nothing, too, where more threads wait for each other than there are cores.
std::chrono::nanoseconds spin_time(int waiters, int cores);

/// The first part of a wait:
///
///     Spin spin(time);
///     while (!is_over()) {
///       if (!spin.again()) sleep();
///     }
class Spin {
 public:
  explicit Spin(std::chrono::nanoseconds time) : time_(time) {}

  /// Waits some cycles; false once the time has passed, for good.
  bool again();

 private:
  std::chrono::nanoseconds time_;
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

/// Asks the run-time libraries of OpenMP, by what they read in the environment, to spin for
/// kSpinTime as well (LLVM's for a millisecond, its least), unless the user says something of it:
/// OMP_WAIT_POLICY, GOMP_SPINCOUNT, KMP_BLOCKTIME. Whether it did; GNU's reads only while it is
/// loaded, so the program has to run anew.
bool ask_openmp_to_sleep();

}  // namespace meshwork
