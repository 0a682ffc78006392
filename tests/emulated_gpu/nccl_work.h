#pragma once

#include <cuda.h>
#include <nccl.h>

#include <cstddef>
#include <functional>
#include <memory>
#include <vector>

#include "emulated_gpu/nccl_board.h"

namespace emulated_gpu {

/// What NCCL was asked for, as its members must agree on it.
enum class NcclKind {
  kAllReduce,
  kReduceScatter,
  kReduce,
  kAllGather,
  kBroadcast,
  kSend,
  kReceive,
};

struct NcclCall {
  NcclKind kind = NcclKind::kAllReduce;
  const std::byte* send = nullptr;
  std::byte* recv = nullptr;
  std::size_t count = 0;
  ncclDataType_t dtype = ncclInt8;
  ncclRedOp_t op = ncclSum;
  int peer = 0;  ///< the root, or whom it is sent to or received from
};

std::size_t size_of(ncclDataType_t dtype);  ///< bytes; 0: unknown
bool can_reduce(ncclDataType_t dtype);      ///< here

/// How the calls of a group run, all at once.
struct NcclMember {
  std::shared_ptr<Board> board;
  int rank = 0;
  int size = 1;
  /// Whether the communicator has been aborted: then it ends with garbage.
  std::function<bool()> is_aborted;
};

/// Waits for the other members. Ends the process with a line where one has been asked for something
/// else.
CUresult run(const NcclMember& member, const std::vector<NcclCall>& calls);

/// Ends the process with a line that says "emulated NCCL: ".
[[noreturn]] void break_off(const char* line);

}  // namespace emulated_gpu
