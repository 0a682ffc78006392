// Part p of a call is elements [p m, (p + 1) m) of each of its blocks. While hosts exchange one
// part those in the next slots are copied. A slot takes the part of four later when its own
// results are on their way back: the stream keeps the order of the copies.
#include "comm/cuda/staged_call.h"

#include <algorithm>
#include <utility>

#include "comm/blocks.h"
#include "comm/call.h"
#include "comm/cuda/peer.h"

namespace meshwork::cuda {
namespace {

using Kind = CollectiveCall::Kind;
using Counts = std::vector<std::int64_t>;

constexpr std::int64_t kLine = 64;

/// Bytes on their way between the device and staging memory.
struct Copy {
  std::byte* device;
  std::byte* staging;
  std::int64_t bytes;
};

/// What hosts exchange at a time. Parts in one slot share the event, and the call if it is the
/// same.
struct Part {
  std::vector<Copy> down;
  std::shared_ptr<Event> is_down;
  std::shared_ptr<PreparedCall> call;
  std::vector<Copy> up;
};

Counts sent_blocks(const CollectiveCall& call, int rank) {
  if (call.kind == Kind::kAllReduce) return {call.count};
  if (call.kind == Kind::kAllGather) return {call.counts[static_cast<std::size_t>(rank)]};
  return call.counts;
}

Counts received_blocks(const CollectiveCall& call, int rank) {
  if (call.kind == Kind::kAllReduce) return {call.count};
  if (call.kind == Kind::kReduceScatter) return {call.counts[static_cast<std::size_t>(rank)]};
  return call.kind == Kind::kAllGather ? call.counts : call.recv_counts;
}

/// The same call for elements [begin, begin + most) of each block.
CollectiveCall part_of(const CollectiveCall& call, std::int64_t begin, std::int64_t most) {
  CollectiveCall part = call;
  const auto cut = [&](std::int64_t& count) {
    count = std::clamp<std::int64_t>(count - begin, 0, most);
  };
  cut(part.count);
  std::ranges::for_each(part.counts, cut);
  std::ranges::for_each(part.recv_counts, cut);
  return part;
}

bool have_same_counts(const CollectiveCall& a, const CollectiveCall& b) {
  return a.count == b.count && a.counts == b.counts && a.recv_counts == b.recv_counts;
}

/// What parts are cut from.
struct Extent {
  std::int64_t longest = 0;  ///< elements of the longest block of any member
  std::int64_t blocks = 1;   ///< the most that one member sends and receives
};

Extent extent_of(const std::vector<CollectiveCall>& calls) {
  Extent extent;
  for (std::size_t i = 0; i < calls.size(); ++i) {
    const int rank = static_cast<int>(i);
    std::int64_t blocks = 0;
    for (const Counts& counts : {sent_blocks(calls[i], rank), received_blocks(calls[i], rank)}) {
      for (const std::int64_t count : counts) {
        extent.longest = std::max(extent.longest, count);
        if (count > 0) ++blocks;
      }
    }
    extent.blocks = std::max(extent.blocks, blocks);
  }
  return extent;
}

/// Copies of blocks that stand one after the other on both sides are one.
void add_copy(std::vector<Copy>& copies, const Copy& copy) {
  if (copy.bytes == 0) return;
  if (!copies.empty()) {
    Copy& last = copies.back();
    if (last.device + last.bytes == copy.device && last.staging + last.bytes == copy.staging) {
      last.bytes += copy.bytes;
      return;
    }
  }
  copies.push_back(copy);
}

class StagedCall final : public EnqueuedCall {
 public:
  StagedCall(std::shared_ptr<Hosts> hosts, const CollectiveCall& call, Staging& staging,
             CudaStream& stream)
      : hosts_(std::move(hosts)),
        rank_(hosts_->rank()),
        device_(staging.device()),
        stream_(stream),
        call_(call),
        send_(static_cast<std::byte*>(const_cast<void*>(call.send))),
        recv_(static_cast<std::byte*>(call.recv)) {
    const std::vector<CollectiveCall> calls = gather_calls(*hosts_, call_);
    check_same_call(calls);
    // From here on all members come to the same numbers.
    const Extent extent = extent_of(calls);
    const std::int64_t element = extent.blocks * bytes(1);
    const std::int64_t most = std::min(extent.longest, (Staging::kMostBytes - kLine) / element);
    slots_ = staging.slots_of(stream, most * element + kLine);
    for (std::int64_t begin = 0; begin < extent.longest; begin += most) {
      add_part(calls, begin, most);
    }
  }

  void start() override {
    for (std::size_t i = 0; i < std::min(StagingSlots::kCount, parts_.size()); ++i) {
      copy_down(parts_[i]);
    }
    for (std::size_t i = 0; i < parts_.size(); ++i) {
      Part& part = parts_[i];
      part.is_down->wait();
      part.call->start();
      part.call->wait();
      for (const Copy& copy : part.up) {
        stream_.copy_to_device(copy.device, copy.staging, copy.bytes);
      }
      if (i + StagingSlots::kCount < parts_.size()) copy_down(parts_[i + StagingSlots::kCount]);
    }
  }

 private:
  std::int64_t bytes(std::int64_t count) const {
    return static_cast<std::int64_t>(bytes_of(count, call_.dtype));
  }

  void copy_down(Part& part) {
    for (const Copy& copy : part.down) {
      stream_.copy_to_host(copy.staging, copy.device, copy.bytes);
    }
    stream_.record(*part.is_down);
  }

  /// A reduction is in place, and a gather from within its result; else what is sent stands first.
  void add_part(const std::vector<CollectiveCall>& calls, std::int64_t begin, std::int64_t most) {
    CollectiveCall call = part_of(call_, begin, most);
    std::byte* send = slots_.slot(parts_.size() % StagingSlots::kCount);
    std::byte* recv = send;
    if (call.kind == Kind::kAllGather) {
      send += bytes(offset_of(call.counts, rank_));
    } else if (call.kind != Kind::kAllReduce) {
      recv += (bytes(sent_by(call, rank_)) + kLine - 1) / kLine * kLine;
    }
    call.send = send;
    call.recv = recv;
    Part part;
    part.down = copies(sent_blocks(call_, rank_), sent_blocks(call, rank_), begin, send_, send);
    part.up = copies(received_blocks(call_, rank_), received_blocks(call, rank_), begin, recv_,
                     recv, kept_block());
    prepare(part, call, calls, begin, most);
    parts_.push_back(std::move(part));
  }

  /// Where all members exchange as much as by the part before in this slot, its call does.
  void prepare(Part& part, const CollectiveCall& call, const std::vector<CollectiveCall>& calls,
               std::int64_t begin, std::int64_t most) {
    if (parts_.size() < StagingSlots::kCount) {
      part.is_down = device_.make_event();
    } else {
      const Part& before = parts_[parts_.size() - StagingSlots::kCount];
      const std::int64_t began = begin - static_cast<std::int64_t>(StagingSlots::kCount) * most;
      part.is_down = before.is_down;
      const bool is_same = std::ranges::all_of(calls, [&](const CollectiveCall& whole) {
        return have_same_counts(part_of(whole, begin, most), part_of(whole, began, most));
      });
      if (is_same) part.call = before.call;
    }
    if (!part.call) part.call = hosts_->communicator().prepare(call, hosts_->stream());
  }

  /// The received block that is where it came from; -1: none is.
  int kept_block() const {
    const bool is_gather = call_.kind == Kind::kAllGather;
    return is_gather && send_ == recv_ + bytes(offset_of(call_.counts, rank_)) ? rank_ : -1;
  }

  /// Of a part of each block, from `begin` on, but for the block `without`.
  std::vector<Copy> copies(const Counts& blocks, const Counts& parts, std::int64_t begin,
                           std::byte* device, std::byte* staging, int without = -1) const {
    std::vector<Copy> result;
    for (std::size_t i = 0; i < blocks.size(); ++i) {
      if (static_cast<int>(i) != without) {
        add_copy(result, {device + bytes(begin), staging, bytes(parts[i])});
      }
      device += bytes(blocks[i]);
      staging += bytes(parts[i]);
    }
    return result;
  }

  std::shared_ptr<Hosts> hosts_;
  int rank_;
  Device& device_;
  CudaStream& stream_;
  CollectiveCall call_;
  std::byte* send_;
  std::byte* recv_;
  StagingSlots slots_;
  std::vector<Part> parts_;
};

}  // namespace

std::unique_ptr<PreparedCall> staged_call(std::shared_ptr<Hosts> hosts, const CollectiveCall& call,
                                          Staging& staging, CudaStream& stream) {
  return std::make_unique<StagedCall>(std::move(hosts), call, staging, stream);
}

}  // namespace meshwork::cuda
