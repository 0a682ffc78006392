#include "comm/mpi_host_group.h"

#include <climits>
#include <utility>

#include "base/check.h"
#include "comm/mpi_check.h"
#include "comm/mpi_ranks.h"
#include "comm/mpi_wait.h"

namespace meshwork {
namespace {

int count_of(std::size_t bytes) {
  MW_CHECK(bytes <= INT_MAX, "{} bytes are for the devices to exchange", bytes);
  return static_cast<int>(bytes);
}

class MpiHostGroup final : public HostGroup {
 public:
  MpiHostGroup(MPI_Comm comm, std::shared_ptr<WaitWatch> watch)
      : ranks_(comm), watch_(std::move(watch)) {}

  int rank() const override { return ranks_.rank; }
  int size() const override { return ranks_.size; }

  void all_gather(const void* send, std::size_t bytes, void* recv) override {
    const int count = count_of(bytes);
    MPI_Request request = MPI_REQUEST_NULL;
    MW_MPI(MPI_Iallgather(send, count, MPI_BYTE, recv, count, MPI_BYTE, ranks_.comm, &request));
    wait(request);
  }

  void broadcast(void* data, std::size_t bytes, int root) override {
    MW_CHECK(root >= 0 && root < size(), "root {} of {}", root, size());
    MPI_Request request = MPI_REQUEST_NULL;
    MW_MPI(MPI_Ibcast(data, count_of(bytes), MPI_BYTE, root, ranks_.comm, &request));
    wait(request);
  }

  void barrier() override {
    MPI_Request request = MPI_REQUEST_NULL;
    MW_MPI(MPI_Ibarrier(ranks_.comm, &request));
    wait(request);
  }

  void leave_watch_to_others(bool do_watch) noexcept override {
    if (watch_ != nullptr) watch_->leave_to_others(do_watch);
  }

  void abort(int exit_code) noexcept override {
    // A job that was ended is no success, whatever its members say.
    MPI_Abort(ranks_.comm, exit_code == 0 ? static_cast<int>(ExitCode::kCommunication) : exit_code);
  }

 private:
  void wait(MPI_Request request) const {
    const WaitWatch::Wait waits(watch_.get());
    MW_MPI(mpi_wait(request));
  }

  MpiRanks ranks_;
  std::shared_ptr<WaitWatch> watch_;
};

}  // namespace

std::unique_ptr<HostGroup> mpi_host_group(MPI_Comm comm, std::shared_ptr<WaitWatch> watch) {
  return std::make_unique<MpiHostGroup>(comm, std::move(watch));
}

}  // namespace meshwork
