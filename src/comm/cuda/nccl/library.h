#pragma once

#include <nccl.h>

#include <string>
#include <string_view>

namespace meshwork::cuda {

/// Functions of NCCL that are called here.
// clang-format off
#define MW_NCCL_FUNCTIONS(MW_FUNCTION) \
  MW_FUNCTION(ncclAllGather) \
  MW_FUNCTION(ncclAllReduce) \
  MW_FUNCTION(ncclBroadcast) \
  MW_FUNCTION(ncclCommAbort) \
  MW_FUNCTION(ncclCommDestroy) \
  MW_FUNCTION(ncclCommFinalize) \
  MW_FUNCTION(ncclCommGetAsyncError) \
  MW_FUNCTION(ncclCommInitRankConfig) \
  MW_FUNCTION(ncclGetErrorString) \
  MW_FUNCTION(ncclGetLastError) \
  MW_FUNCTION(ncclGetUniqueId) \
  MW_FUNCTION(ncclGetVersion) \
  MW_FUNCTION(ncclGroupEnd) \
  MW_FUNCTION(ncclGroupStart) \
  MW_FUNCTION(ncclRecv) \
  MW_FUNCTION(ncclReduce) \
  MW_FUNCTION(ncclReduceScatter) \
  MW_FUNCTION(ncclSend)
// clang-format on

/// The same as a table, each under its name.
struct Nccl {
#define MW_MEMBER(name) decltype(&::name) name;
  MW_NCCL_FUNCTIONS(MW_MEMBER)
#undef MW_MEMBER
};

/// NCCL of this machine, opened by the first call. Throws a configuration Error where it is
/// missing, or lacks one of them.
const Nccl& nccl();

/// Throws an Error with NCCL's words, of ExitCode::kCommunication; ncclInProgress is none. `comm`
/// may be null. `what` says what was tried: "starting NCCL".
void check(ncclResult_t result, ncclComm_t comm, std::string_view what);

}  // namespace meshwork::cuda
