#include "comm/cuda/nccl/library.h"

#include <optional>

#include "base/error.h"
#include "comm/nccl_communicator.h"
#include "device/cuda/library.h"

namespace meshwork::cuda {
namespace {

constexpr const char* kName = "libnccl.so.2";

const std::optional<Nccl>& opened() {
  static const auto kOpened = open_if_there<Nccl>(kName, [](const Library& library, Nccl& nccl) {
#define MW_LOAD(name) library.load(#name, nccl.name);
    MW_NCCL_FUNCTIONS(MW_LOAD)
#undef MW_LOAD
  });
  return kOpened;
}

}  // namespace

const Nccl& nccl() {
  if (!opened()) {
    fail(
        "collectives: nccl: {} is not there, or is too old; install NCCL 2.14 or newer where the "
        "loader finds it, in $CUDA_HOME/lib64 or in /usr/local/cuda/lib64, or say collectives: "
        "canonical",
        kName);
  }
  return *opened();
}

void check(ncclResult_t result, ncclComm_t comm, std::string_view what) {
  if (result == ncclSuccess || result == ncclInProgress) return;
  const std::string last = nccl().ncclGetLastError(comm);
  fail(ExitCode::kCommunication,
       "collectives: nccl: {}: {}{}; see what NCCL_DEBUG=WARN says, or say collectives: canonical",
       what, nccl().ncclGetErrorString(result), last.empty() ? "" : " (" + last + ")");
}

}  // namespace meshwork::cuda

namespace meshwork {

void check_nccl() { cuda::nccl(); }

std::string nccl_version() {
  using namespace cuda;
  if (!opened()) return fmt::format("not there: {} is missing, or too old", kName);
  int version = 0;  // 22809
  check(nccl().ncclGetVersion(&version), nullptr, "asking for the version");
  return fmt::format("NCCL {}.{}.{}", version / 10000, version / 100 % 100, version % 100);
}

}  // namespace meshwork
