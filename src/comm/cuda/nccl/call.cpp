#include "comm/cuda/nccl/call.h"

#include <algorithm>
#include <functional>
#include <initializer_list>
#include <string>
#include <utility>

#include "base/check.h"
#include "comm/blocks.h"
#include "comm/call.h"
#include "comm/cuda/nccl/library.h"
#include "comm/cuda/nccl/order.h"
#include "comm/nccl_communicator.h"

namespace meshwork::cuda {
namespace {

using Kind = CollectiveCall::Kind;

ncclDataType_t nccl_type(DType dtype) {
  if (dtype == DType::kFloat32) return ncclFloat32;
  if (dtype == DType::kInt32) return ncclInt32;
  MW_CHECK(dtype == DType::kInt64, "no reduction of {}", to_string(dtype));
  return ncclInt64;
}

/// The first that is bad.
ncclResult_t first_bad(std::initializer_list<ncclResult_t> results) {
  for (const ncclResult_t result : results) {
    if (result != ncclSuccess && result != ncclInProgress) return result;
  }
  return ncclSuccess;
}

bool are_even(const std::vector<std::int64_t>& counts) {
  return std::adjacent_find(counts.begin(), counts.end(), std::not_equal_to<>()) == counts.end();
}

bool is_maximum_of_floats(const CollectiveCall& call) {
  const bool reduces = call.kind == Kind::kAllReduce || call.kind == Kind::kReduceScatter;
  return reduces && call.reduction == Reduction::kMax && call.dtype == DType::kFloat32;
}

class NcclCall final : public EnqueuedCall {
 public:
  NcclCall(std::shared_ptr<NcclConnection> connection, const CollectiveCall& call, int rank,
           Device& device, CudaStream& stream)
      : connection_(std::move(connection)), call_(call), rank_(rank), stream_(stream) {
    if (is_maximum_of_floats(call)) order_floats(device);
    calls_ = bind();
    what_ = fmt::format("{} of {} elements of {} on member {}", name(), sent_by(call, rank),
                        to_string(call.dtype), rank);
  }

  void start() override {
    if (before_) before_();
    connection_->enqueue(calls_, what_);
    if (behind_) behind_();
  }

 private:
  const char* name() const {
    switch (call_.kind) {
      case Kind::kAllReduce:
        return "all_reduce";
      case Kind::kReduceScatter:
        return "reduce_scatter";
      case Kind::kAllGather:
        return "all_gather";
      case Kind::kAllToAll:
        return "all_to_all";
    }
    return "";
  }

  std::int64_t mine(const std::vector<std::int64_t>& counts) const {
    return counts[static_cast<std::size_t>(rank_)];
  }
  std::size_t bytes(std::int64_t count) const { return bytes_of(count, call_.dtype); }

  /// What is sent as whole numbers: where the result will be, or where it is larger in memory of
  /// its own.
  void order_floats(Device& device) {
    const std::int64_t sent = sent_by(call_, rank_);
    std::byte* numbers = static_cast<std::byte*>(call_.recv);
    if (call_.kind == Kind::kReduceScatter) {
      numbers_ = device.allocate(nccl_call_bytes(call_));
      numbers = numbers_.get();
    }
    before_ = numbers_of_floats(stream_, call_.send, numbers, sent);
    behind_ = floats_of_numbers(stream_, call_.recv,
                                call_.kind == Kind::kAllReduce ? sent : mine(call_.counts));
    call_.send = numbers;
    call_.dtype = DType::kInt32;
  }

  NcclCalls bind() {
    switch (call_.kind) {
      case Kind::kAllReduce:
        return all_reduce();
      case Kind::kReduceScatter:
        return are_even(call_.counts) ? reduce_scatter() : reduce_blocks();
      case Kind::kAllGather:
        return are_even(call_.counts) ? all_gather() : broadcast_blocks();
      case Kind::kAllToAll:
        return exchange();
    }
    MW_CHECK(false, "a collective");
  }

  ncclRedOp_t reduction() const { return call_.reduction == Reduction::kSum ? ncclSum : ncclMax; }
  CUstream stream() const { return stream_.handle(); }

  NcclCalls all_reduce() const {
    return [this, type = nccl_type(call_.dtype),
            count = static_cast<std::size_t>(call_.count)](ncclComm_t comm) {
      if (count == 0) return ncclSuccess;
      return nccl().ncclAllReduce(call_.send, call_.recv, count, type, reduction(), comm, stream());
    };
  }

  NcclCalls reduce_scatter() const {
    return [this, type = nccl_type(call_.dtype),
            count = static_cast<std::size_t>(call_.counts[0])](ncclComm_t comm) {
      if (count == 0) return ncclSuccess;
      return nccl().ncclReduceScatter(call_.send, call_.recv, count, type, reduction(), comm,
                                      stream());
    };
  }

  /// Each to its member.
  NcclCalls reduce_blocks() const {
    return [this, type = nccl_type(call_.dtype)](ncclComm_t comm) {
      return each_block(call_.counts, [&](int root, std::int64_t before, std::int64_t count) {
        return nccl().ncclReduce(advance(call_.send, before, call_.dtype), call_.recv,
                                 static_cast<std::size_t>(count), type, reduction(), root, comm,
                                 stream());
      });
    };
  }

  // What is only moved is bytes.

  NcclCalls all_gather() const {
    return [this, size = bytes(call_.counts[0])](ncclComm_t comm) {
      if (size == 0) return ncclSuccess;
      return nccl().ncclAllGather(call_.send, call_.recv, size, ncclUint8, comm, stream());
    };
  }

  NcclCalls broadcast_blocks() const {
    return [this](ncclComm_t comm) {
      return each_block(call_.counts, [&](int root, std::int64_t before, std::int64_t count) {
        std::byte* const block = advance(call_.recv, before, call_.dtype);
        return nccl().ncclBroadcast(root == rank_ ? call_.send : block, block, bytes(count),
                                    ncclUint8, root, comm, stream());
      });
    };
  }

  /// The own block does not travel.
  NcclCalls exchange() {
    before_ = [this, from = advance(call_.send, offset_of(call_.counts, rank_), call_.dtype),
               to = advance(call_.recv, offset_of(call_.recv_counts, rank_), call_.dtype)] {
      copy_elements(stream_, to, from, mine(call_.counts), call_.dtype);
    };
    return [this](ncclComm_t comm) {
      const auto send = [&](int to, std::int64_t before, std::int64_t count) {
        if (to == rank_) return ncclSuccess;
        return nccl().ncclSend(advance(call_.send, before, call_.dtype), bytes(count), ncclUint8,
                               to, comm, stream());
      };
      const auto receive = [&](int from, std::int64_t before, std::int64_t count) {
        if (from == rank_) return ncclSuccess;
        return nccl().ncclRecv(advance(call_.recv, before, call_.dtype), bytes(count), ncclUint8,
                               from, comm, stream());
      };
      return first_bad({each_block(call_.counts, send), each_block(call_.recv_counts, receive)});
    };
  }

  /// Asks for each block that is not empty; `before`: elements before it.
  template <class Ask>
  static ncclResult_t each_block(const std::vector<std::int64_t>& counts, const Ask& ask) {
    std::int64_t before = 0;
    ncclResult_t result = ncclSuccess;
    for (std::size_t member = 0; member < counts.size(); ++member) {
      if (counts[member] > 0) {
        result = first_bad({result, ask(static_cast<int>(member), before, counts[member])});
      }
      before += counts[member];
    }
    return result;
  }

  std::shared_ptr<NcclConnection> connection_;
  CollectiveCall call_;  ///< as NCCL gets it
  int rank_;
  CudaStream& stream_;
  std::shared_ptr<std::byte> numbers_;
  Launch before_, behind_;
  NcclCalls calls_;
  std::string what_;
};

}  // namespace

std::unique_ptr<PreparedCall> nccl_call(std::shared_ptr<NcclConnection> connection,
                                        const CollectiveCall& call, int rank, Device& device,
                                        CudaStream& stream) {
  return std::make_unique<NcclCall>(std::move(connection), call, rank, device, stream);
}

}  // namespace meshwork::cuda

namespace meshwork {

std::int64_t nccl_call_bytes(const CollectiveCall& call) {
  const bool takes =
      call.kind == CollectiveCall::Kind::kReduceScatter && cuda::is_maximum_of_floats(call);
  return takes ? static_cast<std::int64_t>(bytes_of(total(call.counts), call.dtype)) : 0;
}

}  // namespace meshwork
