// Starts jobs with and without a binding of the user's, and asks the ranks where they run.
#include <doctest/doctest.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdlib>
#include <string>
#include <vector>

#include "job.h"
#include "machine/topology.h"

namespace meshwork {
namespace {

const std::vector<int> kProcessors = allowed_processors();
const int kCores = available_cores();

std::string probe() { return std::getenv("MESHWORK_TEST_TOPOLOGY_PROBE"); }

std::string all_processors() { return fmt::format("{}", fmt::join(kProcessors, " ")); }

std::string output(const std::string& command) {
  const test::Ending ending = test::run_job("unset OMP_NUM_THREADS; " + command);
  CHECK(ending.exit_code == 0);
  return ending.output;
}

}  // namespace

TEST_CASE("one rank and a process have the same threads and processors") {
  const std::string expected = fmt::format("0/1: {} threads on {}\n", kCores, all_processors());
  CHECK(output(probe()) == expected);
  CHECK(output("mpirun -n 1 " + probe()) == expected);
  CHECK(output("mpirun -n 1 sh -c '" + probe() + "'") == expected);
}

TEST_CASE("what the user says of threads holds for ranks and processes") {
  const std::string expected = fmt::format("0/1: 3 threads on {}\n", all_processors());
  CHECK(output("export OMP_NUM_THREADS=3; " + probe()) == expected);
  CHECK(output("export OMP_NUM_THREADS=3; mpirun -n 1 " + probe()) == expected);
}

TEST_CASE("eight ranks and eight virtual devices have the same threads") {
  const std::string expected = fmt::format("{} threads", std::max(1, kCores / 8));
  CHECK(output(probe() + " 8").find(expected) != std::string::npos);
  const std::string ranks = output("mpirun --oversubscribe -n 8 " + probe());
  CHECK(std::count(ranks.begin(), ranks.end(), '\n') == 8);
  std::size_t found = 0;
  for (std::size_t at = 0; (at = ranks.find(expected, at)) != std::string::npos; ++at) ++found;
  CHECK(found == 8);
}

TEST_CASE("two ranks share the cores without overlap") {
  if (kCores < 2) return;
  std::string expected;
  const auto cores = cores_of(kProcessors);
  for (int rank = 0; rank < 2; ++rank) {
    std::vector<int> processors;
    for (const Core& core : fair_share(cores, rank, 2)) {
      processors.insert(processors.end(), core.begin(), core.end());
    }
    std::sort(processors.begin(), processors.end());
    expected +=
        fmt::format("{}/2: {} threads on {}\n", rank, kCores / 2, fmt::join(processors, " "));
  }
  // Ranks print in any order.
  CHECK(output("mpirun -n 2 " + probe() + " | sort") == expected);
}

TEST_CASE("a binding of the user stays") {
  if (kProcessors.size() < 2) return;
  const int last = kProcessors.back();
  CHECK(output(fmt::format("taskset -c {} {}", last, probe())) ==
        fmt::format("0/1: 1 threads on {}\n", last));
  CHECK(output("mpirun -n 1 --bind-to none " + probe()) ==
        fmt::format("0/1: {} threads on {}\n", kCores, all_processors()));
  CHECK(output(fmt::format("mpirun -n 1 --cpu-set {} {}", last, probe())) ==
        fmt::format("0/1: 1 threads on {}\n", last));
  const std::string bound = output("mpirun -n 1 --bind-to hwthread " + probe());
  CHECK(bound == fmt::format("0/1: 1 threads on {}\n", kProcessors.front()));
  // mpirun itself would have gone beyond the processors that it was given.
  CHECK(output(fmt::format("taskset -c {} mpirun -n 1 {}", last, probe())) ==
        fmt::format("0/1: 1 threads on {}\n", last));
}

TEST_CASE("OpenMP's threads wait as asked, or as the user says") {
  if (kCores < 2) return;
  // LLVM's OpenMP tells no such number.
  if (output("export OMP_DISPLAY_ENV=verbose; " + probe()).find("KMP_BLOCKTIME") !=
      std::string::npos) {
    return;
  }
  // Each time that libgomp is loaded it says how often it spins; the last time is what holds.
  const auto spins = [](const std::string& start) {
    const std::string text = output("export OMP_DISPLAY_ENV=verbose; " + start + " " + probe());
    constexpr std::string_view kName = "GOMP_SPINCOUNT = '";
    const std::size_t at = text.rfind(kName);
    REQUIRE(at != std::string::npos);
    return std::atoll(text.c_str() + at + kName.size());
  };
  const long long by_itself = spins("OMP_WAIT_POLICY= ");
  CHECK(spins("") < by_itself);
  CHECK(spins("mpirun -n 1") < by_itself);
  CHECK(spins("GOMP_SPINCOUNT=777") == 777);
  CHECK(spins("OMP_WAIT_POLICY=passive") == 0);
  CHECK(spins("OMP_WAIT_POLICY=active") > by_itself);
}

}  // namespace meshwork
