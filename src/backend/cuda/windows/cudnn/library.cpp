#include "backend/cuda/windows/cudnn/library.h"

#include <optional>
#include <string>

#include "backend/cuda_libraries.h"
#include "base/check.h"
#include "base/error.h"
#include "device/cuda/library.h"

namespace meshwork::cuda::windows {
namespace {

struct Opened {
  std::optional<Cudnn> library;
  std::string missing;  ///< why there is none
};

Opened open_cudnn() {
  constexpr const char* kName = "libcudnn.so.9";
  try {
    const Library library(kName, usual_folders(), "");
    Cudnn cudnn{};
#define MW_LOAD(name) library.load(#name, cudnn.name);
    MW_CUDNN_FUNCTIONS(MW_LOAD)
#undef MW_LOAD
    return {cudnn, ""};
  } catch (const Error&) {
    return {std::nullopt, fmt::format("{} is not there, or is damaged", kName)};
  }
}

const Opened& opened() {
  static const Opened kOpened = open_cudnn();
  return kOpened;
}

}  // namespace

bool has_cudnn() { return opened().library.has_value(); }

const Cudnn& cudnn() {
  MW_CHECK(has_cudnn());
  return *opened().library;
}

void check(cudnnStatus_t status, std::string_view what) {
  if (status == CUDNN_STATUS_SUCCESS) return;
  fail(ExitCode::kCommunication,
       "device cuda: {}: {} (cudnnStatus_t {}); see what nvidia-smi says, or say "
       "MESHWORK_CUDNN=never",
       what, cudnn().cudnnGetErrorString(status), static_cast<int>(status));
}

}  // namespace meshwork::cuda::windows

namespace meshwork {

std::string convolution_library() {
  using namespace cuda::windows;
  if (!has_cudnn()) return "of its own: " + opened().missing;
  const std::size_t version = cudnn().cudnnGetVersion();  // 91900
  return fmt::format("cuDNN {}.{}.{}", version / 10000, version / 100 % 100, version % 100);
}

}  // namespace meshwork
