#pragma once

#include <cudnn_graph.h>

#include <cstdint>
#include <limits>
#include <string_view>

/// cuDNN's graphs of operations: how they are described, planned and enqueued.
namespace meshwork::cuda::cudnn {

/// Functions of cuDNN that are called here.
// clang-format off
#define MW_CUDNN_FUNCTIONS(MW_FUNCTION) \
  MW_FUNCTION(cudnnBackendCreateDescriptor) \
  MW_FUNCTION(cudnnBackendDestroyDescriptor) \
  MW_FUNCTION(cudnnBackendExecute) \
  MW_FUNCTION(cudnnBackendFinalize) \
  MW_FUNCTION(cudnnBackendGetAttribute) \
  MW_FUNCTION(cudnnBackendSetAttribute) \
  MW_FUNCTION(cudnnCreate) \
  MW_FUNCTION(cudnnDestroy) \
  MW_FUNCTION(cudnnGetErrorString) \
  MW_FUNCTION(cudnnGetVersion) \
  MW_FUNCTION(cudnnSetStream)
// clang-format on

/// The same as a table, each under its name.
struct Functions {
#define MW_MEMBER(name) decltype(&::name) name;
  MW_CUDNN_FUNCTIONS(MW_MEMBER)
#undef MW_MEMBER
};

/// Whether cuDNN is on this machine; it is opened by the first call.
bool is_there();

/// Its functions, where it is there.
const Functions& functions();

/// Throws an Error with cuDNN's words, of ExitCode::kCommunication. `what` says what was tried:
/// "describing operations".
void check(cudnnStatus_t status, std::string_view what);

/// Which of the tasks that it can do are cuDNN's.
enum class Choice { kWhatPays, kAlways, kNever };

/// What MESHWORK_CUDNN says: always, never, or nothing; anything else throws an Error.
Choice choice();

/// Of fewer operations a launch is most of the time that a task takes.
inline constexpr double kFewFlops = 1 << 26;

/// Of a tensor: engines count its elements by 32 bits with a sign.
inline constexpr std::int64_t kMostElements = std::numeric_limits<std::int32_t>::max() - 1;

}  // namespace meshwork::cuda::cudnn
