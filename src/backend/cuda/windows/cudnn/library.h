#pragma once

#include <cudnn_graph.h>

#include <string_view>

namespace meshwork::cuda::windows {

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
struct Cudnn {
#define MW_MEMBER(name) decltype(&::name) name;
  MW_CUDNN_FUNCTIONS(MW_MEMBER)
#undef MW_MEMBER
};

/// Whether cuDNN is on this machine; it is opened by the first call.
bool has_cudnn();

/// Its functions, where it is there.
const Cudnn& cudnn();

/// Throws an Error with cuDNN's words, of ExitCode::kCommunication. `what` says what was tried:
/// "describing a convolution".
void check(cudnnStatus_t status, std::string_view what);

}  // namespace meshwork::cuda::windows
