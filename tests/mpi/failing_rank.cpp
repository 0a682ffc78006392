// A job in which rank 1 fails in the way that the first argument names, while the others wait for
// it: failing_rank kill|exit|leave|throw|error|abort|none [hosts]
// Others wait in calls of devices, or of hosts; with `stop`, at the end of the job, for 2 seconds;
// with `stop-first` and `stop-second` at its start.
#include <signal.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <vector>

#include "base/error.h"
#include "comm/mpi.h"
#include "device/cpu_device.h"
#include "machine/launch.h"

namespace {

using namespace meshwork;

void fail_as(const std::string& way, HostGroup& hosts) {
  if (way == "kill") raise(SIGKILL);
  if (way == "exit") std::exit(3);
  if (way == "leave") _exit(0);
  if (way == "throw") throw std::runtime_error("rank 1 has had enough");
  if (way == "error") fail(ExitCode::kFile, "data/train.npy: no such file");
  if (way == "abort") hosts.abort(75);
}

void run(const std::string& way, bool hosts_wait) {
  const bool is_rank_1 = launch_from_environment().rank == 1;
  MpiSession session(2);
  if (way == "stop-first" && is_rank_1) raise(SIGSTOP);
  const World world = session.world();
  if (way == "stop-second" && is_rank_1) raise(SIGSTOP);
  world.hosts->barrier();
  Communicator& comm = *world.devices;
  const auto stream = make_cpu_device({})->make_stream();
  const auto all_reduce = [&](void* data) {
    return comm.prepare({.send = data, .recv = data, .count = 100000}, *stream);
  };
  // One call through shared memory and one by messages are under way when the rank fails.
  std::vector<float> data(100000, 1.0F);
  const auto memory = comm.allocate(400000);
  const auto direct =
      all_reduce(memory != nullptr ? memory.get() : static_cast<void*>(data.data()));
  std::vector<float> more(100000, 1.0F);
  const auto by_messages = all_reduce(more.data());
  const bool fails_early = way != "none" && way != "stop";
  for (int step = 0; step < 100 || fails_early; ++step) {
    const bool fails = step == 20 && comm.rank() == 1;
    direct->start();
    by_messages->start();
    if (fails && !hosts_wait) fail_as(way, *world.hosts);
    direct->wait();
    by_messages->wait();
    if (fails) fail_as(way, *world.hosts);
    world.hosts->barrier();
  }
  if (way == "stop" && comm.rank() == 1) raise(SIGSTOP);
}

}  // namespace

int main(int argc, char** argv) {
  try {
    run(argc > 1 ? argv[1] : "none", argc > 2);
    return 0;
  } catch (const Error& error) {
    std::fprintf(stderr, "error: %s\n", error.what());
    return static_cast<int>(error.code());
  } catch (const std::exception& error) {
    std::fprintf(stderr, "exception: %s\n", error.what());
    return 1;
  }
}
