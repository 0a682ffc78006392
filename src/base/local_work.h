#pragma once

#include <cstdint>

namespace meshwork {

/// What this process does without waiting for another one, while this lives: it computes, waits for
/// a disk or for who reads what it prints. For those who watch whether it gets on.
class LocalWork {
 public:
  LocalWork();
  LocalWork(const LocalWork&) = delete;
  LocalWork& operator=(const LocalWork&) = delete;
  ~LocalWork();
};

/// Of all threads of this process.
struct LocalWorkCount {
  std::uint64_t done = 0;
  bool under_way = false;  ///< some is on its way now
};
LocalWorkCount local_work();

}  // namespace meshwork
