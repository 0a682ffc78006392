#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "backend/cuda/cudnn/session.h"

namespace meshwork::cuda::cudnn {

/// Where the tensors of a plan are, by their numbers.
struct Places {
  struct InMemory {
    std::int64_t id = 0;
    std::byte* data = nullptr;
  };
  struct ByValue {
    std::int64_t id = 0;
    float value = 0;
  };
  std::vector<InMemory> in_memory;
  std::vector<ByValue> by_value;
  std::byte* workspace = nullptr;
};

/// The problem by cuDNN; nothing where cuDNN is missing, or has no algorithm for it. `what` names
/// it in errors: "a convolution".
std::optional<Launch> launch(CudaStream& stream, const Problem& problem, Places places,
                             std::string_view what);

}  // namespace meshwork::cuda::cudnn
