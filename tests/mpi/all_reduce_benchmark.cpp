// Time of all_reduce, as a call and prepared in place, min / median / max of samples: on ranks
// under mpirun, beside MPI_Allreduce (whose order of summation is its own), else on `argv[1]`
// threads.
#include <fmt/format.h>
#include <mpi.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <functional>
#include <vector>

#include "comm/mpi.h"
#include "comm/thread.h"

namespace {

using namespace meshwork;

struct Times {
  double least, median, most;  // microseconds
};

Times measure(Communicator& comm, int samples, int repeats, const std::function<void()>& work) {
  std::vector<double> times;
  for (int sample = 0; sample < samples + 1; ++sample) {
    comm.barrier();
    const auto start = std::chrono::steady_clock::now();
    for (int i = 0; i < repeats; ++i) work();
    const std::chrono::duration<double, std::micro> time = std::chrono::steady_clock::now() - start;
    if (sample > 0) times.push_back(time.count() / repeats);  // the first one touches new memory
  }
  std::sort(times.begin(), times.end());
  return {times.front(), times[times.size() / 2], times.back()};
}

void print(const char* what, const Communicator& comm, std::int64_t bytes, const Times& times) {
  if (comm.rank() != 0) return;
  fmt::print("{:14} n {} {:9} B {:10.1f} {:10.1f} {:10.1f} us\n", what, comm.size(), bytes,
             times.least, times.median, times.most);
}

void benchmark(Communicator& comm, bool ranks) {
  for (const std::int64_t bytes : {4, 1024, 4096, 16384, 65536, 407080, 1 << 20, 16 << 20}) {
    const std::int64_t count = bytes / 4;
    std::vector<float> send(static_cast<std::size_t>(count), 0.5F);
    std::vector<float> recv(send.size());
    const int repeats = static_cast<int>(std::clamp<std::int64_t>((4 << 20) / bytes, 1, 1000));
    const auto all_reduce = [&] {
      comm.all_reduce(send.data(), recv.data(), count, DType::kFloat32, Reduction::kSum);
    };
    print("all_reduce", comm, bytes, measure(comm, 9, repeats, all_reduce));
    const auto memory = comm.allocate(bytes);
    void* shared = memory != nullptr ? memory.get() : static_cast<void*>(recv.data());
    const auto call = comm.prepare({.send = shared, .recv = shared, .count = count});
    const auto prepared = [&] {
      call->start();
      call->wait();
    };
    print("prepared", comm, bytes, measure(comm, 9, repeats, prepared));
    if (!ranks) continue;
    const auto reference = [&] {
      MPI_Allreduce(send.data(), recv.data(), static_cast<int>(count), MPI_FLOAT, MPI_SUM,
                    MPI_COMM_WORLD);
    };
    print("MPI_Allreduce", comm, bytes, measure(comm, 9, repeats, reference));
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (MpiSession::launched_by_mpirun()) {
    MpiSession session;
    benchmark(*session.world(), true);
  } else {
    run_devices(argc > 1 ? std::atoi(argv[1]) : 2,
                [](Communicator& comm) { benchmark(comm, false); });
  }
}
