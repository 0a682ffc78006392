#pragma once

#include <functional>
#include <memory>

#include "comm/communicator.h"

namespace meshwork {

struct ThreadWorldState;

/// The devices of one process, one thread each; what it gives may outlive it.
///
///     ThreadWorld devices(2);
///     std::jthread other([world = devices.world(1)] { train(world); });
///     train(devices.world(0));
///
/// One that fails calls abort(): the calls of all others, pending and later, then throw an Error of
/// ExitCode::kCommunication. A call that members make with different arguments is a CheckFailure.
class ThreadWorld {
 public:
  explicit ThreadWorld(int devices);
  ~ThreadWorld();
  ThreadWorld(const ThreadWorld&) = delete;
  ThreadWorld& operator=(const ThreadWorld&) = delete;

  int size() const;

  /// What the thread that is device `rank` has of all devices; once for each.
  World world(int rank);

  /// As HostGroup::abort of device `rank`.
  void abort(int rank, int exit_code) noexcept;

  /// Throws an Error of the exit code with which a device ended the job, if one did.
  void check_not_aborted() const;

  /// The function of device `rank` has ended: who waits for it in a call, or will, gets an Error.
  void leave(int rank) noexcept;

 private:
  std::shared_ptr<ThreadWorldState> state_;
};

/// Runs `function` on `count` devices, device 0 on the calling thread, and waits for all. Where
/// cores are enough, each is bound to its share of them meanwhile (cores_for_threads). An
/// exception of one ends the calls of the others; the first is rethrown, not those that followed
/// from it. A device that ended the job by abort(code) alone gives an Error of that exit code.
void run_devices(int count, const std::function<void(World&)>& function);

}  // namespace meshwork
