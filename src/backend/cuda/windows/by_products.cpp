#include "backend/cuda/windows/by_products.h"

namespace meshwork::cuda::windows {

const ByProducts* by_products(const Task& task) {
  for (const ByProducts* const way : {&kPointwise, &kWinograd}) {
    if (way->takes(task)) return way;
  }
  return nullptr;
}

}  // namespace meshwork::cuda::windows
