#include "base/local_work.h"

#include <atomic>

namespace meshwork {
namespace {

std::atomic<std::uint64_t> begun = 0, ended = 0;

}  // namespace

LocalWork::LocalWork() { ++begun; }
LocalWork::~LocalWork() { ++ended; }

LocalWorkCount local_work() {
  const std::uint64_t done = ended;  // first: what begins meanwhile is under way
  return {done, begun != done};
}

}  // namespace meshwork
