#include "comm/cuda/nccl/library.h"

#include <optional>

#include "base/error.h"
#include "comm/nccl_communicator.h"
#include "device/cuda/library.h"

namespace meshwork::cuda {
namespace {

constexpr const char* kName = "libnccl.so.2";

/// Nothing where it is not there, or is so old that it lacks a function.
std::optional<Nccl> open_nccl() {
  try {
    const Library library(kName, usual_folders(), "");
    Nccl functions{};
#define MW_LOAD(name) library.load(#name, functions.name);
    MW_NCCL_FUNCTIONS(MW_LOAD)
#undef MW_LOAD
    return functions;
  } catch (const Error&) {
    return std::nullopt;
  }
}

const std::optional<Nccl>& opened() {
  static const std::optional<Nccl> kOpened = open_nccl();
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
