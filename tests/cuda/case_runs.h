#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "ops/cases.h"
#include "support/kernel_call.h"

namespace meshwork::testing {

/// Ops that MESHWORK_OPS names, separated by commas: tests are about these alone. All, where it is
/// not set.
bool is_asked_for(std::string_view op);

/// CHECKs that the GPU's kernels of these ops give what the naive ones give, on every case of
/// float32 and of bfloat16, whole and as two devices share it, and the same bits each time.
void check_cases(const std::set<std::string, std::less<>>& ops);

/// Whether cuDNN's algorithms are those of tests/emulated_gpu: a real one has others for each GPU,
/// and may have none.
bool has_emulated_cudnn();

/// Whether cuBLASLt is that of tests/emulated_gpu, which does all that it is asked for.
bool has_emulated_cublaslt();

/// The backend of GPU 0.
Backend& gpu_backend();

}  // namespace meshwork::testing
