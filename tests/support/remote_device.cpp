#include "support/remote_device.h"

#include <utility>

#include "base/check.h"
#include "device/cpu_device.h"
#include "support/remote/memory.h"
#include "support/remote/stream.h"

namespace meshwork::testing {
namespace {

class RemoteDevice final : public Device {
 public:
  RemoteDevice(int threads, std::uint64_t seed)
      : host_(make_cpu_device(cpu_target(threads))), seed_(seed) {}

  const Target& target() const override { return host_->target(); }
  std::shared_ptr<std::byte> allocate(std::int64_t bytes, const HostMemory& /*host*/) override {
    return allocate_remote(bytes);
  }
  std::shared_ptr<std::byte> allocate_staging(std::int64_t bytes) override {
    return host_->allocate_staging(bytes);
  }
  std::unique_ptr<Stream> make_stream() override {
    return std::make_unique<RemoteStream>(hazards_, target().threads, seed_);
  }
  std::unique_ptr<Event> make_event() override { return std::make_unique<RemoteEvent>(); }

 private:
  std::unique_ptr<Device> host_;
  std::uint64_t seed_;
  std::shared_ptr<Hazards> hazards_ = std::make_shared<Hazards>();
};

TensorView local(TensorView view) {
  view.data = to_local(view.data);
  return view;
}

Use use_of(const TensorView& view, bool writes) {
  return {view.data, view.data == nullptr ? 0 : num_bytes(view.type), writes};
}

/// The kernels of the CPU on memory that the host does not reach.
class RemoteBackend final : public Backend {
 public:
  RemoteBackend(int threads, std::uint64_t seed)
      : cpu_(make_cpu_backend(threads)),
        cpu_stream_(cpu_->device().make_stream()),
        device_(std::make_unique<RemoteDevice>(threads, seed)) {}

  Device& device() const override { return *device_; }
  const KernelDef* find(std::string_view op) const override { return cpu_->find(op); }

  Launch bind(const KernelDef& kernel, const KernelArgs& args, Stream& stream) const override {
    std::vector<Use> uses{use_of(args.output, true)};
    KernelArgs mine = args;
    mine.output = local(args.output);
    mine.workspace = use_workspace(args.workspace, Backend::workspace(kernel, args), uses);
    for (TensorView& input : mine.inputs) {
      uses.push_back(use_of(input, false));
      input = local(input);
    }
    return enqueued(stream, std::string(kernel.op), uses, cpu_->bind(kernel, mine, *cpu_stream_));
  }

  Launch bind_fusion(const FusionGroup& args, Stream& stream) const override {
    std::vector<Use> uses;
    FusionGroup mine = args;
    mine.workspace = use_workspace(args.workspace, fusion_workspace(args), uses);
    for (TensorView& input : mine.inputs) {
      uses.push_back(use_of(input, false));
      input = local(input);
    }
    for (FusionGroup::Member& member : mine.members) {
      if (member.is_read) uses.push_back(use_of(member.output, true));
      member.output = local(member.output);
    }
    return enqueued(stream, "fusion", uses, cpu_->bind_fusion(mine, *cpu_stream_));
  }

  /// The last one first: nobody may count on their order.
  Launch bind_passes(std::span<const FusionGroup> passes, Stream& stream) const override {
    std::vector<FusionGroup> reversed(passes.rbegin(), passes.rend());
    return Backend::bind_passes(reversed, stream);
  }

  std::int64_t fusion_workspace(const FusionGroup& args) const override {
    return cpu_->fusion_workspace(args);
  }

 private:
  static std::byte* use_workspace(std::byte* remote, std::int64_t bytes, std::vector<Use>& uses) {
    if (remote == nullptr || bytes == 0) return nullptr;
    uses.push_back({remote, bytes, true});
    return to_local(remote);
  }

  static Launch enqueued(Stream& stream, const std::string& name, const std::vector<Use>& uses,
                         const Launch& work) {
    return [&remote = dynamic_cast<RemoteStream&>(stream), name, uses, work] {
      remote.enqueue(name, uses, work);
    };
  }

  std::unique_ptr<Backend> cpu_;
  std::unique_ptr<Stream> cpu_stream_;
  std::unique_ptr<Device> device_;
};

/// All of a call is done by the stream.
class RemoteCall final : public PreparedCall {
 public:
  RemoteCall(std::shared_ptr<PreparedCall> call, RemoteStream& stream, std::vector<Use> uses)
      : call_(std::move(call)), stream_(stream), uses_(std::move(uses)) {}

  void start() override {
    stream_.enqueue("collective", uses_, [call = call_] {
      call->start();
      call->wait();
    });
  }
  bool poll() override { return true; }
  void wait(std::span<PreparedCall* const> /*beside*/) override {}

 private:
  std::shared_ptr<PreparedCall> call_;
  RemoteStream& stream_;
  std::vector<Use> uses_;
};

std::int64_t total(const std::vector<std::int64_t>& counts) {
  std::int64_t sum = 0;
  for (const std::int64_t count : counts) sum += count;
  return sum;
}

class RemoteCommunicator final : public Communicator {
 public:
  explicit RemoteCommunicator(std::shared_ptr<Communicator> hosts) : hosts_(std::move(hosts)) {}

  int rank() const override { return hosts_->rank(); }
  int size() const override { return hosts_->size(); }
  std::unique_ptr<Communicator> group(std::span<const int> members) override {
    return std::make_unique<RemoteCommunicator>(hosts_->group(members));
  }
  std::shared_ptr<std::byte> allocate(std::int64_t /*bytes*/) override { return nullptr; }

  std::unique_ptr<PreparedCall> prepare(const CollectiveCall& call, Stream& stream) override {
    CollectiveCall mine = call;
    mine.send = to_local(static_cast<const std::byte*>(call.send));
    mine.recv = to_local(static_cast<std::byte*>(call.recv));
    return std::make_unique<RemoteCall>(hosts_->prepare(mine, *host_stream_),
                                        dynamic_cast<RemoteStream&>(stream), uses(call));
  }

 private:
  /// Elements that this member sends, and that it receives.
  std::pair<std::int64_t, std::int64_t> counts(const CollectiveCall& call) const {
    const auto me = static_cast<std::size_t>(rank());
    switch (call.kind) {
      case CollectiveCall::Kind::kAllReduce:
        return {call.count, call.count};
      case CollectiveCall::Kind::kReduceScatter:
        return {total(call.counts), call.counts[me]};
      case CollectiveCall::Kind::kAllGather:
        return {call.counts[me], total(call.counts)};
      case CollectiveCall::Kind::kAllToAll:
        return {total(call.counts), total(call.recv_counts)};
    }
    MW_CHECK(false, "a collective");
  }

  /// Of an all-gather from within its result only the blocks of others are written.
  std::vector<Use> uses(const CollectiveCall& call) const {
    const auto* send = static_cast<const std::byte*>(call.send);
    const auto* recv = static_cast<const std::byte*>(call.recv);
    const auto size = static_cast<std::int64_t>(size_of(call.dtype));
    const auto [sent, received] = counts(call);
    const std::byte* const end = recv + received * size;
    const bool inside = call.kind == CollectiveCall::Kind::kAllGather && recv <= send && send < end;
    if (!inside) return {{send, sent * size, false}, {recv, received * size, true}};
    const std::byte* const behind = send + sent * size;
    return {{send, sent * size, false}, {recv, send - recv, true}, {behind, end - behind, true}};
  }

  std::shared_ptr<Communicator> hosts_;
  std::unique_ptr<Stream> host_stream_ = make_cpu_device({})->make_stream();
};

}  // namespace

std::unique_ptr<Backend> make_remote_backend(int threads, std::uint64_t seed) {
  return std::make_unique<RemoteBackend>(threads, seed);
}

std::shared_ptr<Communicator> remote_communicator(std::shared_ptr<Communicator> hosts) {
  return std::make_shared<RemoteCommunicator>(std::move(hosts));
}

DeviceFactory remote_devices(std::uint64_t seed) {
  return [seed](const Target& target, std::shared_ptr<Communicator> hosts) {
    if (hosts != nullptr) hosts = remote_communicator(std::move(hosts));
    return DeviceParts{make_remote_backend(target.threads, seed), std::move(hosts)};
  };
}

}  // namespace meshwork::testing
