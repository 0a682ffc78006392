#include "comm/single.h"

#include <cstring>
#include <utility>

#include "base/check.h"
#include "base/error.h"
#include "comm/blocks.h"

namespace meshwork {
namespace {

class SingleCommunicator final : public Communicator {
 public:
  explicit SingleCommunicator(std::function<void(int)> on_abort) : on_abort_(std::move(on_abort)) {}

  int rank() const override { return 0; }
  int size() const override { return 1; }

  std::unique_ptr<Communicator> group(std::span<const int> members) override {
    barrier();
    MW_CHECK(members.size() == 1 && members[0] == 0);
    return single_communicator(on_abort_);
  }

  void all_reduce(const void* send, void* recv, std::int64_t count, DType dtype,
                  Reduction /*reduction*/) override {
    MW_CHECK(dtype != DType::kUInt8, "no reduction of {}", to_string(dtype));
    copy(send, recv, count, count, dtype);
  }

  void reduce_scatter(const void* send, void* recv, std::span<const std::int64_t> counts,
                      DType dtype, Reduction reduction) override {
    MW_CHECK(counts.size() == 1);
    all_reduce(send, recv, counts[0], dtype, reduction);
  }

  void all_gather(const void* send, void* recv, std::span<const std::int64_t> counts,
                  DType dtype) override {
    MW_CHECK(counts.size() == 1);
    copy(send, recv, counts[0], counts[0], dtype);
  }

  void all_to_all(const void* send, std::span<const std::int64_t> send_counts, void* recv,
                  std::span<const std::int64_t> recv_counts, DType dtype) override {
    MW_CHECK(send_counts.size() == 1 && recv_counts.size() == 1);
    copy(send, recv, send_counts[0], recv_counts[0], dtype);
  }

  void broadcast(void* /*data*/, std::size_t /*bytes*/, int root) override {
    barrier();
    MW_CHECK(root == 0);
  }

  void barrier() override {
    if (aborted_) fail(ExitCode::kCommunication, "device 0 of 1: the job was aborted");
  }

  void abort(int exit_code) noexcept override {
    aborted_ = true;
    if (on_abort_) on_abort_(exit_code);
  }

 private:
  void copy(const void* send, void* recv, std::int64_t send_count, std::int64_t recv_count,
            DType dtype) {
    barrier();
    MW_CHECK(send_count == recv_count && send_count >= 0, "{} and {}", send_count, recv_count);
    if (send != recv && send_count > 0) std::memcpy(recv, send, bytes_of(send_count, dtype));
  }

  std::function<void(int)> on_abort_;
  bool aborted_ = false;
};

}  // namespace

std::unique_ptr<Communicator> single_communicator(std::function<void(int)> on_abort) {
  return std::make_unique<SingleCommunicator>(std::move(on_abort));
}

}  // namespace meshwork
