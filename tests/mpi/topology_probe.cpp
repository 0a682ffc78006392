// Prints how many threads this rank or process would use, and where: "1/4: 2 threads on 0 1".
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <omp.h>

#include <cstdlib>

#include "machine/topology.h"

int main(int argc, char** argv) {
  using namespace meshwork;
  prepare_process(argv);
  const JobLaunch launch = launch_from_environment();
  const int devices = argc > 1 ? std::atoi(argv[1]) : launch.local_size;
  const auto processors = allowed_processors();
  fmt::print(
      "{}/{}: {} threads on {}{}\n", launch.rank, launch.size, threads_per_device(devices),
      fmt::join(processors, " "),
      omp_get_num_procs() == static_cast<int>(processors.size()) ? "" : ", OpenMP disagrees");
}
