#include "comm/thread.h"

#include <exception>
#include <system_error>
#include <thread>

#include "base/check.h"
#include "base/wait.h"
#include "comm/thread_world.h"
#include "machine/topology.h"

namespace meshwork {
namespace {

/// The first exception of a device that is no consequence of another's.
struct Cause {
  std::mutex mutex;
  std::exception_ptr exception;

  void keep_current() noexcept {
    const std::lock_guard lock(mutex);
    if (!exception) exception = std::current_exception();
  }
};

/// What the devices of one run share.
struct Run {
  ThreadWorld world;
  std::vector<Core> cores;
  const std::function<void(World&)>& function;
  Cause cause{};
};

void run_device(Run& run, int rank) noexcept {
  auto& [world, cores, function, cause] = run;
  try {
    const BoundThread bound(cores.empty() ? cores : fair_share(cores, rank, world.size()));
    World mine = world.world(rank);
    function(mine);
  } catch (const DeviceLost&) {
    // The other one has said why.
  } catch (const Error& error) {
    cause.keep_current();
    world.abort(rank, static_cast<int>(error.code()));
  } catch (...) {
    cause.keep_current();
    world.abort(rank, static_cast<int>(ExitCode::kTraining));
  }
  world.leave(rank);
}

std::vector<std::thread> start_devices(Run& run) {
  ThreadWorld& world = run.world;
  std::vector<std::thread> threads;
  int rank = 1;
  try {
    for (; rank < world.size(); ++rank) {
      threads.emplace_back([&run, rank] { run_device(run, rank); });
    }
  } catch (const std::system_error& error) {
    world.abort(rank, static_cast<int>(ExitCode::kCommunication));
    for (std::thread& thread : threads) thread.join();
    fail(ExitCode::kCommunication, "cannot start the thread of device {} of {}: {}", rank,
         world.size(), error.what());
  }
  return threads;
}

}  // namespace

ThreadWorld::ThreadWorld(int devices) {
  MW_CHECK(devices > 0, "{} devices", devices);
  state_ = std::make_shared<ThreadWorldState>(devices, spin_time(devices, available_cores()));
}

ThreadWorld::~ThreadWorld() = default;

int ThreadWorld::size() const { return state_->size; }

World ThreadWorld::world(int rank) {
  MW_CHECK(rank >= 0 && rank < state_->size, "device {} of {}", rank, state_->size);
  const std::lock_guard lock(state_->mutex);
  MW_CHECK(!state_->taken[static_cast<std::size_t>(rank)], "device {} taken twice", rank);
  state_->taken[static_cast<std::size_t>(rank)] = true;
  return {thread_host_group({state_, state_->hosts, rank}),
          thread_communicator({state_, state_->devices, rank})};
}

void ThreadWorld::abort(int rank, int exit_code) noexcept { state_->end(rank, exit_code); }

void ThreadWorld::check_not_aborted() const {
  const std::lock_guard lock(state_->mutex);
  if (!state_->ended) return;
  const auto [device, exit_code] = *state_->ended;
  fail(exit_code == 0 ? ExitCode::kCommunication : static_cast<ExitCode>(exit_code),
       "device {} of {} ended the job with exit code {}", device, state_->size, exit_code);
}

void ThreadWorld::leave(int rank) noexcept { state_->leave(rank); }

void run_devices(int count, const std::function<void(World&)>& function) {
  Run run{ThreadWorld(count), cores_for_threads(count), function};
  std::vector<std::thread> threads = start_devices(run);
  run_device(run, 0);
  for (std::thread& thread : threads) thread.join();
  if (run.cause.exception) std::rethrow_exception(run.cause.exception);
  run.world.check_not_aborted();
}

}  // namespace meshwork
