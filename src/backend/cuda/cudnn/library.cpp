#include "backend/cuda/cudnn/library.h"

#include <cstdlib>
#include <optional>
#include <string>

#include "backend/cuda_libraries.h"
#include "base/check.h"
#include "base/error.h"
#include "device/cuda/library.h"

namespace meshwork::cuda::cudnn {
namespace {

constexpr const char* kName = "libcudnn.so.9";

const std::optional<Functions>& opened() {
  static const auto kOpened =
      open_if_there<Functions>(kName, [](const Library& library, Functions& functions) {
#define MW_LOAD(name) library.load(#name, functions.name);
        MW_CUDNN_FUNCTIONS(MW_LOAD)
#undef MW_LOAD
      });
  return kOpened;
}

}  // namespace

bool is_there() { return opened().has_value(); }

const Functions& functions() {
  MW_CHECK(is_there());
  return *opened();
}

void check(cudnnStatus_t status, std::string_view what) {
  if (status == CUDNN_STATUS_SUCCESS) return;
  fail(ExitCode::kCommunication,
       "device cuda: {}: {} (cudnnStatus_t {}); see what nvidia-smi says, or say "
       "MESHWORK_CUDNN=never",
       what, functions().cudnnGetErrorString(status), static_cast<int>(status));
}

Choice choice() {
  const char* const value = std::getenv("MESHWORK_CUDNN");
  const std::string_view text = value == nullptr ? "" : value;
  if (text.empty()) return Choice::kWhatPays;
  if (text == "always") return Choice::kAlways;
  if (text != "never") fail("MESHWORK_CUDNN: '{}' is none of always, never", text);
  return Choice::kNever;
}

}  // namespace meshwork::cuda::cudnn

namespace meshwork {

std::string convolution_library() {
  using namespace cuda::cudnn;
  if (!is_there()) return fmt::format("of its own: {} is not there, or is damaged", kName);
  const std::size_t version = functions().cudnnGetVersion();  // 91900
  return fmt::format("cuDNN {}.{}.{}", version / 10000, version / 100 % 100, version % 100);
}

}  // namespace meshwork
