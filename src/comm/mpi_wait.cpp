#include "comm/mpi_wait.h"

#include <algorithm>
#include <chrono>
#include <thread>

#include "base/wait.h"
#include "machine/mpi_environment.h"

namespace meshwork {

int mpi_wait(MPI_Request request) {
  Spin spin(rank_spin_time());
  std::chrono::microseconds sleep{50};
  while (true) {
    int done = 0;
    const int code = MPI_Test(&request, &done, MPI_STATUS_IGNORE);
    if (code != MPI_SUCCESS || done != 0) return code;
    if (spin.again()) continue;
    std::this_thread::sleep_for(sleep);
    sleep = std::min(2 * sleep, std::chrono::microseconds(1000));
  }
}

}  // namespace meshwork
