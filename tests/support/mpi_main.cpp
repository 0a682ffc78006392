// The main program of tests that run on every rank of a job. Rank 0 prints, and ranks that fail;
// all end with one exit code; a watchdog ends a job that hangs.
#define DOCTEST_CONFIG_IMPLEMENT
#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <mutex>
#include <sstream>
#include <thread>
#include <vector>

#include "comm/mpi.h"
#include "support/mpi_world.h"

namespace meshwork::test {
namespace {

World world;

/// Test cases that have ended on this rank.
std::atomic<int> cases_done{0};

struct CountsCases : doctest::IReporter {
  explicit CountsCases(const doctest::ContextOptions&) {}
  void report_query(const doctest::QueryData&) override {}
  void test_run_start() override {}
  void test_run_end(const doctest::TestRunStats&) override {}
  void test_case_start(const doctest::TestCaseData&) override {}
  void test_case_reenter(const doctest::TestCaseData&) override {}
  void test_case_end(const doctest::CurrentTestCaseStats&) override { ++cases_done; }
  void test_case_exception(const doctest::TestCaseException&) override {}
  void subcase_start(const doctest::SubcaseSignature&) override {}
  void subcase_end() override {}
  void log_assert(const doctest::AssertData&) override {}
  void log_message(const doctest::MessageData&) override {}
  void test_case_skipped(const doctest::TestCaseData&) override {}
};
DOCTEST_REGISTER_LISTENER("cases", 1, CountsCases);

/// Ends the whole job when no test case has ended for MESHWORK_TEST_SECONDS (default 250), unless
/// destroyed before.
class Watchdog {
 public:
  Watchdog() : thread_([this] { watch(); }) {}
  ~Watchdog() {
    {
      const std::lock_guard lock(mutex_);
      done_ = true;
    }
    wake_.notify_all();
    thread_.join();
  }
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;

 private:
  void watch() {
    const char* limit = std::getenv("MESHWORK_TEST_SECONDS");
    const std::chrono::seconds seconds(limit != nullptr ? std::atoi(limit) : 250);
    std::unique_lock lock(mutex_);
    for (int before = -1; before != cases_done;) {
      before = cases_done;
      if (wake_.wait_for(lock, seconds, [this] { return done_; })) return;
    }
    std::fprintf(stderr, "rank %d of %d: no test case ended for %lld s\n", world.hosts->rank(),
                 world.hosts->size(), static_cast<long long>(seconds.count()));
    std::_Exit(124);  // mpirun ends the others
  }

  std::mutex mutex_;
  std::condition_variable wake_;
  bool done_ = false;
  std::thread thread_;
};

int run_tests(int argc, char** argv) {
  doctest::Context context(argc, argv);
  std::ostringstream output;
  context.setCout(&output);
  const int result = context.run();
  const int mine = result != 0 || context.shouldExit() ? result : 0;
  HostGroup& hosts = *world.hosts;
  const std::vector<std::int64_t> all = gather(hosts, mine);
  for (int rank = 0; rank < hosts.size(); ++rank) {
    if (rank == hosts.rank() && (rank == 0 || mine != 0)) {
      std::cout << "rank " << rank << " of " << hosts.size() << ":\n" << output.str() << std::flush;
    }
    hosts.barrier();
  }
  return static_cast<int>(*std::max_element(all.begin(), all.end()));
}

}  // namespace

World& mpi_world() { return world; }

}  // namespace meshwork::test

int main(int argc, char** argv) {
  using namespace meshwork;
  MpiSession session;
  test::world = session.world();
  int result = 0;
  {
    const test::Watchdog watchdog;
    result = test::run_tests(argc, argv);
  }
  test::world = {};
  return result;
}
