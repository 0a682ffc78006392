// Starts jobs in which a rank fails, and looks at how they end.
#include <doctest/doctest.h>

#include <cstdlib>
#include <string>

#include "base/host_name.h"
#include "job.h"

namespace {

using meshwork::test::Ending;

Ending run_failing(const std::string& way) {
  const std::string program = std::getenv("MESHWORK_TEST_FAILING_RANK");
  return meshwork::test::run_job("mpirun --oversubscribe -n 4 " + program + " " + way);
}

double quick_seconds() {
  return meshwork::test::quick_seconds(
      4, std::getenv("MESHWORK_TEST_FAILING_RANK") + std::string(" none"));
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("a job in which no rank fails says nothing") {
  const Ending ending = run_failing("none");
  CHECK(ending.exit_code == 0);
  CHECK(ending.output == "");
}

TEST_CASE("a rank that is lost ends the job within seconds, with its exit code") {
  const double limit = quick_seconds();
  struct Case {
    const char* way;
    int exit_code;
  };
  for (const Case& each :
       {Case{"kill", 128 + 9}, Case{"exit", 3}, Case{"leave", 1}, Case{"abort", 75},
        Case{"kill hosts", 128 + 9}, Case{"abort hosts", 75}}) {
    CAPTURE(each.way);
    const Ending ending = run_failing(each.way);
    CAPTURE(ending.output);
    CHECK(ending.exit_code == each.exit_code);
    CHECK(ending.seconds < limit);
    if (each.exit_code != 128 + 9) continue;
    // The one line about it is that of mpirun, which leaves the others no time.
    CHECK(contains(ending.output, "process rank 1 "));
    // Open MPI 5 breaks the line there.
    CHECK((contains(ending.output, "exited on signal 9 (Killed)") ||
           contains(ending.output, "exited on\nsignal 9 (Killed)")));
  }
}

TEST_CASE("an exception of one rank ends the job with its exit code and is seen") {
  const double limit = quick_seconds();
  const Ending thrown = run_failing("throw");
  CHECK(thrown.exit_code == 1);
  CHECK(contains(thrown.output, "exception: rank 1 has had enough\n"));
  CHECK(thrown.seconds < limit);
  const Ending error = run_failing("error");
  CHECK(error.exit_code == 3);
  CHECK(contains(error.output, "error: data/train.npy: no such file\n"));
  CHECK(error.seconds < limit);
}

TEST_CASE("a rank that stands still at the end of a job does not keep the others") {
  const double limit = quick_seconds() + 2;
  const Ending ending = run_failing("stop");
  CHECK(ending.exit_code == 4);
  CAPTURE(ending.output);
  CHECK(ending.output.starts_with(
      "meshwork: rank 0 is done, but waits for 2 s (stall_timeout) for another one, which is "
      "stopped or gone; the job ends here\n"));
  CHECK(ending.seconds < limit);
}

TEST_CASE("a rank that stands still at the start of a job does not keep the others") {
  const double limit = quick_seconds() + 10;
  for (const char* way : {"stop-first", "stop-second"}) {
    CAPTURE(way);
    const Ending ending = run_failing(way);
    CHECK(ending.exit_code == 4);
    CAPTURE(ending.output);
    CHECK(contains(ending.output, "meshwork: warning: rank 0 on " + meshwork::host_name() +
                                      " waits for 5 s at the start for another rank, "));
    CHECK(contains(ending.output, "meshwork: rank 0 on " + meshwork::host_name() +
                                      " has waited for 10 s at the start (5 times stall_timeout)"));
    CHECK_FALSE(contains(ending.output, "rank 1 on "));
    CHECK(ending.seconds < limit);
  }
}
