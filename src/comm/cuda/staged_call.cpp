#include "comm/cuda/staged_call.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "comm/blocks.h"
#include "comm/direct_call.h"

namespace meshwork::cuda {
namespace {

using Kind = CollectiveCall::Kind;

// While hosts reduce one part of this size the next is copied.
constexpr std::int64_t kPartBytes = std::int64_t{4} << 20U;

/// Bytes on their way between the device and staging memory.
struct Copy {
  std::byte* device;
  std::byte* staging;
  std::int64_t bytes;
};

/// What hosts exchange at a time.
struct Part {
  Copy down;
  std::unique_ptr<Event> is_down;
  std::unique_ptr<PreparedCall> call;
  std::vector<Copy> up;
};

class StagedCall final : public PreparedCall {
 public:
  StagedCall(std::shared_ptr<Hosts> hosts, const CollectiveCall& call, Device& device,
             CudaStream& stream)
      : hosts_(std::move(hosts)),
        device_(device),
        stream_(stream),
        call_(call),
        send_(static_cast<std::byte*>(const_cast<void*>(call.send))),
        recv_(static_cast<std::byte*>(call.recv)) {
    bind();
  }

  void start() override {
    for (Part& part : parts_) {
      stream_.copy_to_host(part.down.staging, part.down.device, part.down.bytes);
      stream_.record(*part.is_down);
    }
    for (Part& part : parts_) {
      part.is_down->wait();
      part.call->start();
      part.call->wait();
      for (const Copy& copy : part.up) {
        stream_.copy_to_device(copy.device, copy.staging, copy.bytes);
      }
    }
  }
  bool poll() override { return true; }
  void wait(std::span<PreparedCall* const> /*beside*/) override {}

 private:
  std::int64_t bytes(std::int64_t count) const {
    return static_cast<std::int64_t>(bytes_of(count, call_.dtype));
  }

  void bind() {
    switch (call_.kind) {
      case Kind::kAllReduce:
        return add_reductions();
      case Kind::kAllGather:
        return add_gather();
      case Kind::kReduceScatter:
        return add_exchange(call_.counts[static_cast<std::size_t>(hosts_->rank())]);
      case Kind::kAllToAll:
        return add_exchange(total(call_.recv_counts));
    }
  }

  /// In place in staging memory, part by part.
  void add_reductions() {
    const auto most = kPartBytes / static_cast<std::int64_t>(size_of(call_.dtype));
    allocate(bytes(call_.count));
    for (std::int64_t begin = 0; begin < call_.count; begin += most) {
      CollectiveCall part = call_;
      part.count = std::min(most, call_.count - begin);
      std::byte* const staging = staging_.get() + bytes(begin);
      part.send = part.recv = staging;
      add(part, {send_ + bytes(begin), staging, bytes(part.count)},
          {{recv_ + bytes(begin), staging, bytes(part.count)}});
    }
  }

  /// From within the result. The own block is not copied back to where it came from.
  void add_gather() {
    const std::int64_t all = bytes(total(call_.counts));
    const std::int64_t before = bytes(offset_of(call_.counts, hosts_->rank()));
    const std::int64_t mine = bytes(call_.counts[static_cast<std::size_t>(hosts_->rank())]);
    allocate(all);
    std::byte* const own = staging_.get() + before;
    CollectiveCall gather = call_;
    gather.send = own;
    gather.recv = staging_.get();
    std::vector<Copy> up{{recv_, staging_.get(), all}};
    if (send_ == recv_ + before) {
      const std::int64_t behind = before + mine;
      up = {{recv_, staging_.get(), before},
            {recv_ + behind, staging_.get() + behind, all - behind}};
    }
    add(gather, {send_, own, mine}, std::move(up));
  }

  /// What is sent stands before what is received.
  void add_exchange(std::int64_t received) {
    const std::int64_t sent = bytes(sent_by(call_, hosts_->rank()));
    const std::int64_t begin = (sent + 63) / 64 * 64;
    allocate(begin + bytes(received));
    CollectiveCall exchange = call_;
    exchange.send = staging_.get();
    exchange.recv = staging_.get() + begin;
    add(exchange, {send_, staging_.get(), sent},
        {{recv_, staging_.get() + begin, bytes(received)}});
  }

  void allocate(std::int64_t bytes) { staging_ = device_.allocate_staging(bytes); }

  void add(const CollectiveCall& call, const Copy& down, std::vector<Copy> up) {
    parts_.push_back({down, device_.make_event(),
                      hosts_->communicator().prepare(call, hosts_->stream()), std::move(up)});
  }

  std::shared_ptr<Hosts> hosts_;
  Device& device_;
  CudaStream& stream_;
  CollectiveCall call_;
  std::byte* send_;
  std::byte* recv_;
  std::shared_ptr<std::byte> staging_;
  std::vector<Part> parts_;
};

}  // namespace

std::unique_ptr<PreparedCall> staged_call(std::shared_ptr<Hosts> hosts, const CollectiveCall& call,
                                          Device& device, CudaStream& stream) {
  return std::make_unique<StagedCall>(std::move(hosts), call, device, stream);
}

}  // namespace meshwork::cuda
