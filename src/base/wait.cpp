#include "base/wait.h"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <string>

namespace meshwork {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::nanoseconds;

/// Tells the processor that this thread does nothing.
void relax() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

/// Rounds of libgomp's loop (a load, a comparison, a pause) in `time`: a pause takes 40 cycles on
/// one processor and 140 on the next.
std::int64_t rounds_in(nanoseconds time) {
  constexpr int kRounds = 500;
  const std::atomic<int> word = 0;
  nanoseconds least = nanoseconds::max();
  for (int sample = 0; sample < 5; ++sample) {  // another program may have the core meanwhile
    const auto begin = Clock::now();
    for (int round = 0; round < kRounds && word.load(std::memory_order_relaxed) == 0; ++round) {
      relax();
    }
    least = std::min(least, nanoseconds(Clock::now() - begin));
  }
  return kRounds * time.count() / std::max<std::int64_t>(1, least.count());
}

bool is_word(const char* text, const char* lower, const char* upper) {
  return text != nullptr && (std::string(text) == lower || std::string(text) == upper);
}

}  // namespace

nanoseconds spin_time(int waiters, int cores) {
  const char* policy = std::getenv("OMP_WAIT_POLICY");
  if (is_word(policy, "active", "ACTIVE")) return std::chrono::seconds(1);
  if (is_word(policy, "passive", "PASSIVE") || waiters > cores) return nanoseconds(0);
  return kSpinTime;
}

bool Spin::again() {
  relax();
  if (time_.count() > 0 && Clock::now() - begin_ >= time_) time_ = nanoseconds(0);
  return time_.count() > 0;
}

bool ask_openmp_to_sleep() {
  for (const char* name : {"OMP_WAIT_POLICY", "GOMP_SPINCOUNT", "KMP_BLOCKTIME"}) {
    if (std::getenv(name) != nullptr) return false;
  }
  setenv("KMP_BLOCKTIME", "1", 1);
  return setenv("GOMP_SPINCOUNT", std::to_string(rounds_in(kSpinTime)).c_str(), 1) == 0;
}

}  // namespace meshwork
