#pragma once

#include <cstddef>
#include <cstdint>
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

/// Enqueues the plan of a session on its stream. `what` names it in errors: "a convolution".
Launch call(CudaStream& stream, const Session& session, const Plan& plan, Places places,
            std::string_view what);

}  // namespace meshwork::cuda::cudnn
