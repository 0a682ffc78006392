#include "comm/mpi.h"

#include <fmt/format.h>
#include <mpi.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <exception>
#include <optional>
#include <thread>

#include "base/check.h"
#include "base/terminal.h"
#include "base/ticker.h"
#include "base/unfinished_file.h"
#include "comm/mpi_check.h"
#include "comm/mpi_communicator.h"
#include "comm/mpi_host_group.h"
#include "comm/mpi_wait.h"
#include "comm/single.h"
#include "machine/launch.h"
#include "machine/mpi_environment.h"

namespace meshwork {

MpiSession::MpiSession(double patience)
    : exceptions_(std::uncaught_exceptions()), patience_(patience) {
  const JobLaunch launch = launch_from_environment();
  prepare_mpi_environment(launch);
  int initialized = 0;
  MPI_Initialized(&initialized);
  MW_CHECK(initialized == 0, "a second session of MPI");
  // Devices compute with many threads, but only the one that is the rank calls MPI at a time.
  int provided = 0;
  watch_ = std::make_shared<WaitWatch>(launch.rank, patience_);
  int code = MPI_SUCCESS;
  {
    const WaitWatch::Wait waits(watch_.get());
    code = MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED, &provided);
  }
  if (code != MPI_SUCCESS || provided < MPI_THREAD_FUNNELED) {
    fail(ExitCode::kCommunication, "MPI_Init_thread: error {}, thread level {}", code, provided);
  }
  MW_MPI(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
  int size = 0;
  MW_MPI(MPI_Comm_rank(MPI_COMM_WORLD, &rank_));
  MW_MPI(MPI_Comm_size(MPI_COMM_WORLD, &size));
  if (rank_ != launch.rank || size != launch.size) {
    fail(ExitCode::kCommunication,
         "MPI: the environment announced rank {} of {}, but this is rank {} of {}; start it with "
         "the mpirun of the same Open MPI",
         launch.rank, launch.size, rank_, size);
  }
}

MpiSession::~MpiSession() {
  if (std::uncaught_exceptions() != exceptions_) return;
  watch_->leave_to_others(true);
  std::optional<Ticker> ticker;
  if (patience_ > 0) ticker.emplace(1, [this](double now) { leave_alone_after(now); });
  // mpirun may crash where a rank ends while others are in MPI_Finalize: they enter it together.
  MPI_Request all_here = MPI_REQUEST_NULL;
  if (MPI_Ibarrier(MPI_COMM_WORLD, &all_here) == MPI_SUCCESS) mpi_wait(all_here);
  MPI_Finalize();
}

void MpiSession::leave_alone_after(double seconds) const {
  // Rank by rank, for mpirun ends all others after the first.
  if (seconds < patience_ + std::min(rank_, 5)) return;
  say(fmt::format(
      "rank {} is done, but waits for {:.0f} s (stall_timeout) for another one, which is "
      "stopped or gone; the job ends here",
      rank_, seconds));
  end_at_once(ExitCode::kCommunication);
}

World MpiSession::world() {
  const WaitWatch::Wait waits(watch_.get());
  int size = 1;
  MW_MPI(MPI_Comm_size(MPI_COMM_WORLD, &size));
  if (size == 1) return single_world([](int code) { MPI_Abort(MPI_COMM_WORLD, code); });
  const auto duplicate = [] {
    MPI_Comm comm = MPI_COMM_NULL;
    MW_MPI(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    return comm;
  };
  return {mpi_host_group(duplicate(), watch_), mpi_communicator(duplicate())};
}

std::string mpi_version() {
  std::string text(MPI_MAX_LIBRARY_VERSION_STRING, '\0');
  int length = 0;
  MPI_Get_library_version(text.data(), &length);
  return text.substr(0, text.find_first_of(std::string_view(",\0", 2)));
}

void let_rank_0_speak(int rank) {
  if (rank != 0) std::this_thread::sleep_for(std::chrono::seconds(5));
}

}  // namespace meshwork
