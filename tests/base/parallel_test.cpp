#include "base/parallel.h"

#include <doctest/doctest.h>

#include <atomic>
#include <stdexcept>
#include <vector>

using namespace meshwork;

namespace {

/// How often each of `count` indices is met, in the shares of `threads` threads.
std::vector<int> met(std::int64_t count, std::int64_t elements, int threads,
                     std::atomic<int>& shares) {
  omp_set_num_threads(threads);
  std::vector<int> times(static_cast<std::size_t>(count), 0);
  for_each_share(count, elements, [&](std::int64_t begin, std::int64_t end) {
    ++shares;
    for (std::int64_t i = begin; i < end; ++i) ++times[static_cast<std::size_t>(i)];
  });
  omp_set_num_threads(1);
  return times;
}

}  // namespace

TEST_CASE("shares of threads cover everything once") {
  for (const int threads : {1, 2, 3}) {
    for (const std::int64_t count : {0, 1, 2, 97}) {
      CAPTURE(threads);
      CAPTURE(count);
      std::atomic<int> shares = 0;
      CHECK(met(count, kParallelElements, threads, shares) ==
            std::vector<int>(static_cast<std::size_t>(count), 1));
      CHECK(shares == threads);
    }
  }
  std::atomic<int> shares = 0;
  met(97, kParallelElements - 1, 3, shares);
  CHECK(shares == 1);  // too little to wake others
}

TEST_CASE("one thread computes in a serial scope, as many as before behind it") {
  omp_set_num_threads(3);
  {
    const SerialScope outer;
    CHECK(omp_get_max_threads() == 1);
  }
  CHECK(omp_get_max_threads() == 3);
  {
    const SerialScope none(false);
    CHECK(omp_get_max_threads() == 3);
  }
  omp_set_num_threads(1);
}
