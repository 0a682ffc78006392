#include "hosted_communicator.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <map>
#include <utility>

#include "base/check.h"
#include "comm/blocks.h"
#include "comm/call.h"

namespace meshwork::test {
namespace {

using Kind = CollectiveCall::Kind;

/// The two streams of a device, as programs have them.
struct Streams {
  explicit Streams(Device& device)
      : copies(device.make_stream()), communication(device.make_stream()) {}
  std::unique_ptr<Stream> copies;
  std::unique_ptr<Stream> communication;
};

/// Memory of the host.
struct Range {
  Range(const void* place, std::int64_t count, DType dtype)
      : begin(static_cast<std::byte*>(const_cast<void*>(place))),
        end(advance(begin, count, dtype)) {}
  Range(std::byte* first, std::byte* last) : begin(first), end(last) {}
  std::int64_t bytes() const { return end - begin; }

  std::byte* begin;
  std::byte* end;
};

constexpr std::int64_t kLine = 64;

/// Memory that devices reach of each other, by the memory of the host that stands for it.
class Twins {
 public:
  /// Memory of the host for it.
  static std::shared_ptr<std::byte> add(const std::shared_ptr<Twins>& twins,
                                        std::shared_ptr<std::byte> device, std::int64_t bytes) {
    const auto whole = static_cast<std::size_t>((bytes / kLine + 1) * kLine);
    auto* const host = static_cast<std::byte*>(std::aligned_alloc(kLine, whole));
    std::memset(host, 0, whole);
    twins->all_[host] = {std::move(device), bytes};
    return {host, [twins](std::byte* memory) {
              twins->all_.erase(memory);
              std::free(memory);
            }};
  }

  /// Where a range of the host is on the device; null if it has no twin.
  std::shared_ptr<std::byte> find(const Range& host) const {
    auto next = all_.upper_bound(host.begin);
    if (next == all_.begin()) return nullptr;
    const auto& [begin, twin] = *std::prev(next);
    if (host.end - begin > twin.bytes) return nullptr;
    return {twin.device, twin.device.get() + (host.begin - begin)};
  }

 private:
  struct Twin {
    std::shared_ptr<std::byte> device;
    std::int64_t bytes = 0;
  };
  std::map<std::byte*, Twin> all_;
};

/// A buffer of the host, and where it is on the device.
class Mirror {
 public:
  Mirror(Device& device, const Twins& twins, const Range& host)
      : host_(host.begin),
        bytes_(host.bytes()),
        staging_(device.allocate_staging(bytes_)),
        garbage_(device.allocate_staging(bytes_)),
        memory_(twins.find(host)),
        begin_(memory_.get()) {
    std::memset(garbage_.get(), 0x7E, static_cast<std::size_t>(bytes_));
    if (memory_ != nullptr) return;
    memory_ = device.allocate(bytes_ + kLine);
    // As far from a line as the buffer is.
    begin_ = memory_.get() + reinterpret_cast<std::uintptr_t>(host_) % kLine;
  }

  /// Where a place in the buffer is on the device.
  std::byte* place(const std::byte* host) const { return begin_ + (host - host_); }

  void bring(Stream& stream) {
    copy(staging_.get(), host_);
    stream.copy_to_device(begin_, staging_.get(), bytes_);
  }
  void fetch(Stream& stream) {
    stream.copy_to_host(staging_.get(), begin_, bytes_);
    stream.copy_to_device(begin_, garbage_.get(), bytes_);
  }
  void show() { copy(host_, staging_.get()); }

 private:
  void copy(std::byte* to, const std::byte* from) const {
    if (bytes_ > 0) std::memcpy(to, from, static_cast<std::size_t>(bytes_));
  }

  std::byte* host_;
  std::int64_t bytes_;
  std::shared_ptr<std::byte> staging_;
  std::shared_ptr<std::byte> garbage_;
  std::shared_ptr<std::byte> memory_;
  std::byte* begin_;
};

std::int64_t received_by(const CollectiveCall& call, int rank) {
  if (call.kind == Kind::kAllReduce) return call.count;
  if (call.kind == Kind::kReduceScatter) return call.counts[static_cast<std::size_t>(rank)];
  return total(call.kind == Kind::kAllGather ? call.counts : call.recv_counts);
}

class HostedCall final : public PreparedCall {
 public:
  HostedCall(Communicator& devices, Device& device, const Twins& twins,
             std::shared_ptr<Streams> streams, CollectiveCall call)
      : streams_(std::move(streams)), ready_(device.make_event()), done_(device.make_event()) {
    const Range send{call.send, sent_by(call, devices.rank()), call.dtype};
    const Range recv{call.recv, received_by(call, devices.rank()), call.dtype};
    const Range both{std::min(send.begin, recv.begin), std::max(send.end, recv.end)};
    // Neighbours, or one in the other: as the host has them.
    if (both.bytes() <= send.bytes() + recv.bytes()) {
      mirrors_.emplace_back(device, twins, both);
    } else {
      mirrors_.emplace_back(device, twins, send);
      mirrors_.emplace_back(device, twins, recv);
    }
    call.send = mirrors_.front().place(send.begin);
    call.recv = mirrors_.back().place(recv.begin);
    call_ = devices.prepare(call, *streams_->communication);
  }

  ~HostedCall() override {
    streams_->communication->drain();
    streams_->copies->drain();
  }

  void start() override {
    MW_CHECK(!is_under_way_);
    for (Mirror& mirror : mirrors_) mirror.bring(*streams_->copies);
    streams_->copies->record(*ready_);
    streams_->communication->wait_for(*ready_);
    call_->start();
    streams_->communication->record(*done_);
    is_under_way_ = true;
  }

  bool poll() override {
    if (is_under_way_) wait({});
    return true;
  }

  void wait(std::span<PreparedCall* const> /*beside*/) override {
    if (!is_under_way_) return;
    call_->wait();
    streams_->copies->wait_for(*done_);
    for (Mirror& mirror : mirrors_) mirror.fetch(*streams_->copies);
    streams_->copies->record(*ready_);
    ready_->wait();
    for (Mirror& mirror : mirrors_) mirror.show();
    is_under_way_ = false;
  }

 private:
  std::shared_ptr<Streams> streams_;
  std::unique_ptr<Event> ready_;
  std::unique_ptr<Event> done_;
  std::vector<Mirror> mirrors_;
  std::unique_ptr<PreparedCall> call_;
  bool is_under_way_ = false;
};

class HostedCommunicator final : public Communicator {
 public:
  HostedCommunicator(std::shared_ptr<Communicator> devices, std::shared_ptr<Device> device,
                     std::shared_ptr<Streams> streams, std::shared_ptr<Twins> twins)
      : devices_(std::move(devices)),
        device_(std::move(device)),
        streams_(std::move(streams)),
        twins_(std::move(twins)) {}

  int rank() const override { return devices_->rank(); }
  int size() const override { return devices_->size(); }
  std::unique_ptr<Communicator> group(std::span<const int> members) override {
    return std::make_unique<HostedCommunicator>(devices_->group(members), device_, streams_,
                                                twins_);
  }
  std::unique_ptr<PreparedCall> prepare(const CollectiveCall& call, Stream& stream) override {
    check_call(call, size(), stream);
    return std::make_unique<HostedCall>(*devices_, *device_, *twins_, streams_, call);
  }
  std::shared_ptr<std::byte> allocate(std::int64_t bytes) override {
    std::shared_ptr<std::byte> memory = devices_->allocate(bytes);
    return memory == nullptr ? nullptr : Twins::add(twins_, std::move(memory), bytes);
  }

 private:
  std::shared_ptr<Communicator> devices_;
  std::shared_ptr<Device> device_;
  std::shared_ptr<Streams> streams_;
  std::shared_ptr<Twins> twins_;
};

}  // namespace

std::shared_ptr<Communicator> hosted_communicator(std::shared_ptr<Communicator> devices,
                                                  std::shared_ptr<Device> device) {
  auto streams = std::make_shared<Streams>(*device);
  return std::make_shared<HostedCommunicator>(std::move(devices), std::move(device),
                                              std::move(streams), std::make_shared<Twins>());
}

}  // namespace meshwork::test
