#include "comm/single.h"

#include <cstring>
#include <utility>

#include "base/check.h"
#include "base/error.h"
#include "comm/call.h"

namespace meshwork {
namespace {

class SingleHostGroup final : public HostGroup {
 public:
  explicit SingleHostGroup(std::function<void(int)> on_abort) : on_abort_(std::move(on_abort)) {}

  int rank() const override { return 0; }
  int size() const override { return 1; }

  void all_gather(const void* send, std::size_t bytes, void* recv) override {
    barrier();
    if (bytes > 0) std::memcpy(recv, send, bytes);
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
  std::function<void(int)> on_abort_;
  bool aborted_ = false;
};

class SingleCommunicator final : public Communicator {
 public:
  int rank() const override { return 0; }
  int size() const override { return 1; }

  std::unique_ptr<Communicator> group(std::span<const int> members) override {
    MW_CHECK(members.size() == 1 && members[0] == 0);
    return single_communicator();
  }

  std::unique_ptr<PreparedCall> prepare(const CollectiveCall& call, Stream& stream) override {
    check_call(call, 1, stream);
    MW_CHECK(call.kind != CollectiveCall::Kind::kAllToAll || call.counts == call.recv_counts);
    return own_copy(call, stream);
  }

  std::shared_ptr<std::byte> allocate(std::int64_t /*bytes*/) override { return nullptr; }
};

}  // namespace

World single_world(std::function<void(int)> on_abort) {
  return {std::make_unique<SingleHostGroup>(std::move(on_abort)), single_communicator()};
}

std::unique_ptr<Communicator> single_communicator() {
  return std::make_unique<SingleCommunicator>();
}

}  // namespace meshwork
