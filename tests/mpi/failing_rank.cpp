// A job in which rank 1 fails in the way that the first argument names, while the others wait for
// it: failing_rank kill|exit|leave|throw|error|abort|none
#include <signal.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <vector>

#include "base/error.h"
#include "comm/mpi.h"

namespace {

using namespace meshwork;

void fail_as(const std::string& way, Communicator& comm) {
  if (way == "kill") raise(SIGKILL);
  if (way == "exit") std::exit(3);
  if (way == "leave") _exit(0);
  if (way == "throw") throw std::runtime_error("rank 1 has had enough");
  if (way == "error") fail(ExitCode::kFile, "data/train.npy: no such file");
  if (way == "abort") comm.abort(75);
}

void run(const std::string& way) {
  MpiSession session;
  const auto comm = session.world();
  std::vector<float> data(100000, 1.0F);
  // One call through shared memory and one by messages are under way when the rank fails.
  const auto memory = comm->allocate(400000);
  void* shared = memory != nullptr ? memory.get() : static_cast<void*>(data.data());
  const auto direct = comm->prepare({.send = shared, .recv = shared, .count = 100000});
  std::vector<float> more(100000, 1.0F);
  const auto by_messages =
      comm->prepare({.send = more.data(), .recv = more.data(), .count = 100000});
  for (int step = 0; step < 100 || way != "none"; ++step) {
    direct->start();
    by_messages->start();
    if (step == 20 && comm->rank() == 1) fail_as(way, *comm);
    direct->wait();
    by_messages->wait();
    comm->all_reduce(data.data(), data.data(), 100000, DType::kFloat32, Reduction::kMax);
  }
}

}  // namespace

int main(int argc, char** argv) {
  try {
    run(argc > 1 ? argv[1] : "none");
    return 0;
  } catch (const Error& error) {
    std::fprintf(stderr, "error: %s\n", error.what());
    return static_cast<int>(error.code());
  } catch (const std::exception& error) {
    std::fprintf(stderr, "exception: %s\n", error.what());
    return 1;
  }
}
