// Time of all_reduce in place, in memory that others reach and in any, and of a meeting of the
// hosts, min / median / max of samples: on ranks under mpirun, beside MPI_Allreduce (whose order of
// summation is its own), else on `argv[1]` threads.
#include <fmt/format.h>
#include <mpi.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <functional>
#include <vector>

#include "comm/mpi.h"
#include "comm/thread.h"
#include "device/cpu_device.h"
#include "machine/launch.h"

namespace {

using namespace meshwork;

struct Times {
  double least, median, most;  // microseconds
};

Times measure(HostGroup& hosts, int samples, int repeats, const std::function<void()>& work) {
  std::vector<double> times;
  for (int sample = 0; sample < samples + 1; ++sample) {
    hosts.barrier();
    const auto start = std::chrono::steady_clock::now();
    for (int i = 0; i < repeats; ++i) work();
    const std::chrono::duration<double, std::micro> time = std::chrono::steady_clock::now() - start;
    if (sample > 0) times.push_back(time.count() / repeats);  // the first one touches new memory
  }
  std::sort(times.begin(), times.end());
  return {times.front(), times[times.size() / 2], times.back()};
}

void print(const char* what, const HostGroup& hosts, std::int64_t bytes, const Times& times) {
  if (hosts.rank() != 0) return;
  fmt::print("{:14} n {} {:9} B {:10.1f} {:10.1f} {:10.1f} us\n", what, hosts.size(), bytes,
             times.least, times.median, times.most);
}

void benchmark(World& world, bool ranks) {
  HostGroup& hosts = *world.hosts;
  const auto stream = make_cpu_device({})->make_stream();
  print("hosts", hosts, 8, measure(hosts, 9, 100, [&] { gather(hosts, 1); }));
  for (const std::int64_t bytes : {4, 1024, 4096, 16384, 65536, 407080, 1 << 20, 16 << 20}) {
    const std::int64_t count = bytes / 4;
    const int repeats = static_cast<int>(std::clamp<std::int64_t>((4 << 20) / bytes, 1, 1000));
    const auto all_reduce = [&](const char* what, void* data) {
      const auto call =
          world.devices->prepare({.send = data, .recv = data, .count = count}, *stream);
      print(what, hosts, bytes, measure(hosts, 9, repeats, [&] {
              call->start();
              call->wait();
            }));
    };
    std::vector<float> send(static_cast<std::size_t>(count), 0.5F);
    std::vector<float> recv(send.size());
    all_reduce("all_reduce", recv.data());
    if (const auto memory = world.devices->allocate(bytes)) all_reduce("shared", memory.get());
    if (!ranks) continue;
    const auto reference = [&] {
      MPI_Allreduce(send.data(), recv.data(), static_cast<int>(count), MPI_FLOAT, MPI_SUM,
                    MPI_COMM_WORLD);
    };
    print("MPI_Allreduce", hosts, bytes, measure(hosts, 9, repeats, reference));
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (launch_from_environment().by_mpirun) {
    MpiSession session;
    World world = session.world();
    benchmark(world, true);
  } else {
    run_devices(argc > 1 ? std::atoi(argv[1]) : 2, [](World& world) { benchmark(world, false); });
  }
}
