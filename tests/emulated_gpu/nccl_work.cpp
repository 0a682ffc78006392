#include "emulated_gpu/nccl_work.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <map>
#include <thread>
#include <type_traits>
#include <utility>

#include "emulated_gpu/region.h"

namespace emulated_gpu {
namespace {

/// What stands before the data of each message.
struct Head {
  std::int32_t kind = 0, dtype = 0, op = 0, root = 0;
  std::uint64_t count = 0, bytes = 0;
  bool operator==(const Head&) const = default;
};

/// A message on its way.
struct Transfer {
  Channel* channel = nullptr;
  bool sends = false;
  Head head;  ///< of one that is received: as it must be
  std::byte* data = nullptr;
  Head heard{};
  std::size_t done = 0;  ///< bytes of the head and the data

  std::size_t all() const { return sizeof(Head) + head.bytes; }
};

template <class T>
T combine(T a, T b, ncclRedOp_t op) {
  if (op == ncclMax) return b > a || a != a ? b : a;  // of floats, a NaN is forgotten
  if constexpr (std::is_floating_point_v<T>) {
    return a + b;
  } else {
    using Unsigned = std::make_unsigned_t<T>;
    return static_cast<T>(static_cast<Unsigned>(a) + static_cast<Unsigned>(b));
  }
}

/// Element i begins with member i mod n, and goes round the ring.
template <class T>
void reduce(const std::vector<const std::byte*>& parts, std::byte* result, std::size_t count,
            ncclRedOp_t op) {
  const auto at = [&](std::size_t part, std::size_t i) {
    T value;
    std::memcpy(&value, parts[part] + i * sizeof(T), sizeof(T));
    return value;
  };
  std::vector<T> sums(count);
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t first = i % parts.size();
    sums[i] = at(first, i);
    for (std::size_t step = 1; step < parts.size(); ++step) {
      sums[i] = combine(sums[i], at((first + step) % parts.size(), i), op);
    }
  }
  std::memcpy(result, sums.data(), count * sizeof(T));
}

void reduce(const NcclCall& call, const std::vector<const std::byte*>& parts, std::byte* result) {
  switch (call.dtype) {
    case ncclFloat32:
      return reduce<float>(parts, result, call.count, call.op);
    case ncclInt32:
      return reduce<std::int32_t>(parts, result, call.count, call.op);
    default:
      return reduce<std::int64_t>(parts, result, call.count, call.op);
  }
}

/// The calls of a group as messages, and what is done when all have come.
class Work {
 public:
  Work(const NcclMember& member, const std::vector<NcclCall>& calls)
      : member_(member), calls_(calls) {
    for (const NcclCall& call : calls) add(call);
  }

  CUresult run() {
    while (!transfers_.empty()) {
      if (member_.is_aborted()) {
        spoil();
        return CUDA_SUCCESS;
      }
      if (!advance()) std::this_thread::sleep_for(std::chrono::microseconds(20));
    }
    const Access access;
    for (const auto& finish : finishes_) finish();
    return CUDA_SUCCESS;
  }

 private:
  std::size_t bytes(const NcclCall& call) const { return call.count * size_of(call.dtype); }

  template <class Do>
  void for_others(const Do& work) const {
    for (int other = 0; other < member_.size; ++other) {
      if (other != member_.rank) work(other);
    }
  }

  void send(const NcclCall& call, int to, const std::byte* data) {
    transfers_.push_back({&member_.board->between(member_.rank, to), true, head_of(call),
                          const_cast<std::byte*>(data)});
  }
  void receive(const NcclCall& call, int from, std::byte* data) {
    transfers_.push_back({&member_.board->between(from, member_.rank), false, head_of(call), data});
  }

  /// Who sends and who receives says the same.
  Head head_of(const NcclCall& call) const {
    const bool is_between = call.kind == NcclKind::kSend || call.kind == NcclKind::kReceive;
    const NcclKind kind = is_between ? NcclKind::kSend : call.kind;
    return {static_cast<std::int32_t>(kind),
            static_cast<std::int32_t>(call.dtype),
            static_cast<std::int32_t>(call.op),
            is_between ? 0 : call.peer,
            call.count,
            bytes(call)};
  }

  void add(const NcclCall& call) {
    const std::size_t size = bytes(call);
    const bool is_root = call.peer == member_.rank;
    switch (call.kind) {
      case NcclKind::kSend:
        return send(call, call.peer, call.send);
      case NcclKind::kReceive:
        return receive(call, call.peer, call.recv);
      case NcclKind::kBroadcast:
        if (!is_root) return receive(call, call.peer, call.recv);
        for_others([&](int to) { send(call, to, call.send); });
        return copy(call.send, call.recv, size);
      case NcclKind::kAllGather:
        for_others([&](int to) { send(call, to, call.send); });
        for_others([&](int from) {
          receive(call, from, call.recv + static_cast<std::size_t>(from) * size);
        });
        return copy(call.send, call.recv + static_cast<std::size_t>(member_.rank) * size, size);
      case NcclKind::kReduce:
        if (!is_root) return send(call, call.peer, call.send);
        return add_reduction(call, call.send);
      case NcclKind::kAllReduce:
        for_others([&](int to) { send(call, to, call.send); });
        return add_reduction(call, call.send);
      case NcclKind::kReduceScatter:
        for_others(
            [&](int to) { send(call, to, call.send + static_cast<std::size_t>(to) * size); });
        return add_reduction(call, call.send + static_cast<std::size_t>(member_.rank) * size);
    }
  }

  void copy(const std::byte* from, std::byte* to, std::size_t size) {
    finishes_.push_back([=] { std::memmove(to, from, size); });
  }

  void add_reduction(const NcclCall& call, const std::byte* mine) {
    std::vector<const std::byte*> parts(static_cast<std::size_t>(member_.size), mine);
    for_others([&](int from) {
      held_.emplace_back(bytes(call));
      receive(call, from, held_.back().data());
      parts[static_cast<std::size_t>(from)] = held_.back().data();
    });
    finishes_.push_back([call, parts] { reduce(call, parts, call.recv); });
  }

  /// One step of the first message of each channel; false where none gets on.
  bool advance() {
    const Access access;
    bool moves = false;
    std::map<const Channel*, bool> taken;
    for (Transfer& transfer : transfers_) {
      if (std::exchange(taken[transfer.channel], true)) continue;
      const std::size_t before = transfer.done;
      step(transfer);
      moves = moves || transfer.done != before;
    }
    std::erase_if(transfers_, [](const Transfer& each) { return each.done == each.all(); });
    return moves;
  }

  static void step(Transfer& transfer) {
    Head& head = transfer.sends ? transfer.head : transfer.heard;
    if (transfer.done < sizeof(Head)) {
      move(transfer, reinterpret_cast<std::byte*>(&head) + transfer.done,
           sizeof(Head) - transfer.done);
      if (transfer.done < sizeof(Head)) return;
      if (!transfer.sends && !(transfer.heard == transfer.head)) {
        break_off("two members ask for different things");
      }
    }
    const std::size_t begin = transfer.done - sizeof(Head);
    move(transfer, transfer.data + begin, transfer.head.bytes - begin);
  }

  static void move(Transfer& transfer, std::byte* at, std::size_t size) {
    transfer.done +=
        transfer.sends ? transfer.channel->write(at, size) : transfer.channel->read(at, size);
  }

  void spoil() const {
    const Access access;
    for (const NcclCall& call : calls_) {
      const bool receives = call.kind != NcclKind::kSend &&
                            (call.kind != NcclKind::kReduce || call.peer == member_.rank);
      const bool gathers = call.kind == NcclKind::kAllGather;
      const std::size_t blocks = gathers ? static_cast<std::size_t>(member_.size) : 1;
      if (receives) std::memset(call.recv, 0xCD, blocks * bytes(call));
    }
  }

  const NcclMember& member_;
  const std::vector<NcclCall>& calls_;
  std::vector<Transfer> transfers_;
  std::deque<std::vector<std::byte>> held_;
  std::vector<std::function<void()>> finishes_;
};

}  // namespace

std::size_t size_of(ncclDataType_t dtype) {
  switch (dtype) {
    case ncclInt8:
    case ncclUint8:
      return 1;
    case ncclFloat16:
    case ncclBfloat16:
      return 2;
    case ncclInt32:
    case ncclUint32:
    case ncclFloat32:
      return 4;
    case ncclInt64:
    case ncclUint64:
    case ncclFloat64:
      return 8;
    default:
      return 0;
  }
}

bool can_reduce(ncclDataType_t dtype) {
  return dtype == ncclFloat32 || dtype == ncclInt32 || dtype == ncclInt64;
}

CUresult run(const NcclMember& member, const std::vector<NcclCall>& calls) {
  return Work(member, calls).run();
}

void break_off(const char* line) {
  std::fprintf(stderr, "emulated NCCL: %s\n", line);
  std::abort();
}

}  // namespace emulated_gpu
