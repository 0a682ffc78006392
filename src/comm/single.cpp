#include "comm/single.h"

#include <cstring>
#include <utility>

#include "base/check.h"
#include "base/error.h"
#include "comm/blocks.h"

namespace meshwork {
namespace {

[[noreturn]] void fail_aborted() {
  fail(ExitCode::kCommunication, "device 0 of 1: the job was aborted");
}

/// What one member sends itself.
class Copy final : public PreparedCall {
 public:
  Copy(const void* send, void* recv, std::size_t bytes, std::shared_ptr<const bool> aborted)
      : send_(send), recv_(recv), bytes_(bytes), aborted_(std::move(aborted)) {}

  void start() override {
    if (*aborted_) fail_aborted();
    if (send_ != recv_ && bytes_ > 0) std::memcpy(recv_, send_, bytes_);
  }
  bool poll() override { return true; }
  void wait(std::span<PreparedCall* const> /*beside*/) override {
    if (*aborted_) fail_aborted();
  }

 private:
  const void* send_;
  void* recv_;
  std::size_t bytes_;
  std::shared_ptr<const bool> aborted_;
};

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

  std::unique_ptr<PreparedCall> prepare(const CollectiveCall& call) override {
    barrier();
    const bool reduces = call.kind == CollectiveCall::Kind::kAllReduce ||
                         call.kind == CollectiveCall::Kind::kReduceScatter;
    MW_CHECK(!reduces || call.dtype != DType::kUInt8, "no reduction of {}", to_string(call.dtype));
    const std::int64_t count =
        call.kind == CollectiveCall::Kind::kAllReduce ? call.count : total(call.counts);
    MW_CHECK(count >= 0, "{} elements", count);
    return std::make_unique<Copy>(call.send, call.recv, bytes_of(count, call.dtype), aborted_);
  }

  std::shared_ptr<std::byte> allocate(std::int64_t /*bytes*/) override { return nullptr; }

  void broadcast(void* /*data*/, std::size_t /*bytes*/, int root) override {
    barrier();
    MW_CHECK(root == 0);
  }

  void barrier() override {
    if (*aborted_) fail_aborted();
  }

  void abort(int exit_code) noexcept override {
    *aborted_ = true;
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
  std::shared_ptr<bool> aborted_ = std::make_shared<bool>(false);
};

}  // namespace

std::unique_ptr<Communicator> single_communicator(std::function<void(int)> on_abort) {
  return std::make_unique<SingleCommunicator>(std::move(on_abort));
}

}  // namespace meshwork
