#include "base/heap.h"

#ifdef __GLIBC__
#include <malloc.h>
#endif

namespace meshwork {

void give_back_large_blocks() {
#ifdef __GLIBC__
  constexpr int kLargeBytes = 4 << 20;
  mallopt(M_MMAP_THRESHOLD, kLargeBytes);
  mallopt(M_TRIM_THRESHOLD, 2 * kLargeBytes);
#endif
}

}  // namespace meshwork
