// The functions of NCCL that programs call here.
#include <nccl.h>

#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "emulated_gpu/memory.h"
#include "emulated_gpu/nccl_comm.h"

namespace {

using emulated_gpu::break_off;
using emulated_gpu::find_comm;
using emulated_gpu::NcclCall;
using emulated_gpu::NcclComm;
using emulated_gpu::NcclKind;

/// What a thread has asked for since ncclGroupStart.
struct Group {
  struct Asked {
    CUstream stream = nullptr;
    std::vector<NcclCall> calls;
  };

  int depth = 0;
  std::map<ncclComm_t, Asked> asked;
  std::vector<std::shared_ptr<NcclComm>> aborted;
  ncclResult_t bad = ncclSuccess;
};

Group& group() {
  thread_local Group mine;
  return mine;
}

ncclResult_t refuse(ncclResult_t result) {
  if (group().depth > 0) group().bad = result;
  return result;
}

bool is_there(const std::byte* begin, std::size_t bytes) {
  return emulated_gpu::is_device_memory(reinterpret_cast<CUdeviceptr>(begin), bytes);
}

/// Whether the buffers that `rank` needs are memory of a device.
bool has_buffers(const NcclCall& call, int rank, int size) {
  const std::size_t bytes = call.count * emulated_gpu::size_of(call.dtype);
  const std::size_t all = bytes * static_cast<std::size_t>(size);
  const bool is_root = call.peer == rank;
  switch (call.kind) {
    case NcclKind::kAllReduce:
      return is_there(call.send, bytes) && is_there(call.recv, bytes);
    case NcclKind::kReduceScatter:
      return is_there(call.send, all) && is_there(call.recv, bytes);
    case NcclKind::kReduce:
      return is_there(call.send, bytes) && (!is_root || is_there(call.recv, bytes));
    case NcclKind::kAllGather:
      return is_there(call.send, bytes) && is_there(call.recv, all);
    case NcclKind::kBroadcast:
      return (!is_root || is_there(call.send, bytes)) && is_there(call.recv, bytes);
    case NcclKind::kSend:
      return is_there(call.send, bytes);
    case NcclKind::kReceive:
      return is_there(call.recv, bytes);
  }
  return false;
}

bool reduces(NcclKind kind) {
  return kind == NcclKind::kAllReduce || kind == NcclKind::kReduceScatter ||
         kind == NcclKind::kReduce;
}

ncclResult_t ask(const NcclCall& call, ncclComm_t handle, cudaStream_t stream) {
  if (group().depth == 0) {
    ncclGroupStart();
    ask(call, handle, stream);
    return ncclGroupEnd();
  }
  NcclComm& comm = *find_comm(handle);
  comm.check_ready();
  const bool has_peer = call.peer >= 0 && call.peer < comm.size();
  const bool can = !reduces(call.kind) || (emulated_gpu::can_reduce(call.dtype) &&
                                           (call.op == ncclSum || call.op == ncclMax));
  if (!has_peer || !can || call.count == 0 || emulated_gpu::size_of(call.dtype) == 0 ||
      !has_buffers(call, comm.rank(), comm.size())) {
    return refuse(ncclInvalidArgument);
  }
  emulated_gpu::Stream* found = nullptr;
  if (emulated_gpu::find_stream(stream, found) != CUDA_SUCCESS) {
    return refuse(ncclUnhandledCudaError);
  }
  if (&found->context() != &comm.context()) {
    break_off("a stream of another device than the communicator's");
  }
  Group::Asked& asked = group().asked[handle];
  if (!asked.calls.empty() && asked.stream != stream) {
    break_off("a communicator is used on two streams at once");
  }
  asked.stream = stream;
  asked.calls.push_back(call);
  return ncclSuccess;
}

const std::byte* bytes(const void* place) { return static_cast<const std::byte*>(place); }
std::byte* bytes(void* place) { return static_cast<std::byte*>(place); }

}  // namespace

ncclResult_t ncclGetVersion(int* version) {
  if (version == nullptr) return ncclInvalidArgument;
  *version = NCCL_VERSION_CODE;
  return ncclSuccess;
}

const char* ncclGetErrorString(ncclResult_t result) {
  switch (result) {
    case ncclSuccess:
      return "no error";
    case ncclUnhandledCudaError:
      return "unhandled cuda error (run with NCCL_DEBUG=INFO for details)";
    case ncclSystemError:
      return "unhandled system error (run with NCCL_DEBUG=INFO for details)";
    case ncclInvalidArgument:
      return "invalid argument (run with NCCL_DEBUG=WARN for details)";
    case ncclInvalidUsage:
      return "invalid usage (run with NCCL_DEBUG=WARN for details)";
    case ncclRemoteError:
      return "remote process exited or there was a network error";
    case ncclInProgress:
      return "NCCL operation in progress";
    default:
      return "internal error - please report this issue to the NCCL developers";
  }
}

const char* ncclGetLastError(ncclComm_t comm) {
  thread_local std::string text;
  text = comm == nullptr ? "" : find_comm(comm)->last_error();
  return text.c_str();
}

ncclResult_t ncclGetUniqueId(ncclUniqueId* id) {
  return id == nullptr ? ncclInvalidArgument : emulated_gpu::make_board(*id);
}

ncclResult_t ncclCommInitRankConfig(ncclComm_t* handle, int size, ncclUniqueId id, int rank,
                                    ncclConfig_t* config) {
  if (handle == nullptr || size < 1 || rank < 0 || rank >= size) return ncclInvalidArgument;
  if (size > emulated_gpu::kMostRanks) break_off("more members than it has room for");
  if (emulated_gpu::check_context() != CUDA_SUCCESS) return ncclUnhandledCudaError;
  if (config != nullptr && config->magic != 0xcafebeef) return ncclInvalidArgument;
  auto board = emulated_gpu::open_board(id);
  if (board == nullptr) return ncclSystemError;
  const bool is_blocking = config == nullptr || config->blocking != 0;
  const auto comm = std::make_shared<NcclComm>(id, std::move(board), rank, size, is_blocking);
  *handle = emulated_gpu::add_comm(comm);
  return comm->settled();
}

ncclResult_t ncclCommGetAsyncError(ncclComm_t comm, ncclResult_t* result) {
  if (result == nullptr) return ncclInvalidArgument;
  *result = find_comm(comm)->state();
  return ncclSuccess;
}

ncclResult_t ncclCommFinalize(ncclComm_t comm) { return find_comm(comm)->finalize(); }

ncclResult_t ncclCommDestroy(ncclComm_t handle) {
  const auto comm = find_comm(handle);
  if (!comm->is_finalized()) break_off("a communicator is destroyed that was not finalized");
  if (comm->state() == ncclInProgress) break_off("a communicator is destroyed too early");
  emulated_gpu::remove_comm(handle);
  return ncclSuccess;
}

/// Of several in a group all are aborted before any is waited for.
ncclResult_t ncclCommAbort(ncclComm_t handle) {
  const auto comm = find_comm(handle);
  comm->set_aborted();
  emulated_gpu::remove_comm(handle);
  if (group().depth > 0) {
    group().aborted.push_back(comm);
  } else {
    comm->wait_for_work();
  }
  return ncclSuccess;
}

ncclResult_t ncclGroupStart() {
  ++group().depth;
  return ncclSuccess;
}

ncclResult_t ncclGroupEnd() {
  Group& mine = group();
  if (mine.depth == 0) return ncclInvalidUsage;
  if (--mine.depth > 0) return ncclSuccess;
  const Group done = std::exchange(mine, {});
  ncclResult_t result = done.bad;
  for (const auto& [handle, asked] : done.asked) {
    if (done.bad != ncclSuccess) break;
    const ncclResult_t enqueued = find_comm(handle)->enqueue(asked.stream, asked.calls);
    if (enqueued != ncclSuccess) result = enqueued;
  }
  for (const auto& comm : done.aborted) comm->wait_for_work();
  return result;
}

ncclResult_t ncclAllReduce(const void* send, void* recv, std::size_t count, ncclDataType_t dtype,
                           ncclRedOp_t op, ncclComm_t comm, cudaStream_t stream) {
  return ask({NcclKind::kAllReduce, bytes(send), bytes(recv), count, dtype, op}, comm, stream);
}

ncclResult_t ncclReduceScatter(const void* send, void* recv, std::size_t count,
                               ncclDataType_t dtype, ncclRedOp_t op, ncclComm_t comm,
                               cudaStream_t stream) {
  return ask({NcclKind::kReduceScatter, bytes(send), bytes(recv), count, dtype, op}, comm, stream);
}

ncclResult_t ncclReduce(const void* send, void* recv, std::size_t count, ncclDataType_t dtype,
                        ncclRedOp_t op, int root, ncclComm_t comm, cudaStream_t stream) {
  return ask({NcclKind::kReduce, bytes(send), bytes(recv), count, dtype, op, root}, comm, stream);
}

ncclResult_t ncclAllGather(const void* send, void* recv, std::size_t count, ncclDataType_t dtype,
                           ncclComm_t comm, cudaStream_t stream) {
  return ask({NcclKind::kAllGather, bytes(send), bytes(recv), count, dtype}, comm, stream);
}

ncclResult_t ncclBroadcast(const void* send, void* recv, std::size_t count, ncclDataType_t dtype,
                           int root, ncclComm_t comm, cudaStream_t stream) {
  return ask({NcclKind::kBroadcast, bytes(send), bytes(recv), count, dtype, ncclSum, root}, comm,
             stream);
}

ncclResult_t ncclSend(const void* send, std::size_t count, ncclDataType_t dtype, int peer,
                      ncclComm_t comm, cudaStream_t stream) {
  return ask({NcclKind::kSend, bytes(send), nullptr, count, dtype, ncclSum, peer}, comm, stream);
}

ncclResult_t ncclRecv(void* recv, std::size_t count, ncclDataType_t dtype, int peer,
                      ncclComm_t comm, cudaStream_t stream) {
  return ask({NcclKind::kReceive, nullptr, bytes(recv), count, dtype, ncclSum, peer}, comm, stream);
}
