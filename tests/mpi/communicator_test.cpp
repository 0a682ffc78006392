#include <doctest/doctest.h>

#include <chrono>
#include <ctime>
#include <string>
#include <thread>
#include <vector>

#include "base/check.h"
#include "comm/contract.h"
#include "comm/mpi_check.h"
#include "comm/mpi_communicator.h"
#include "comm/mpi_host_group.h"
#include "machine/launch.h"
#include "support/mpi_world.h"

namespace meshwork {
namespace {

World world_with(const MpiLimits& limits) {
  const auto duplicate = [] {
    MPI_Comm comm = MPI_COMM_NULL;
    MW_MPI(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    return comm;
  };
  return {mpi_host_group(duplicate()), mpi_communicator(duplicate(), limits)};
}

}  // namespace

TEST_CASE("ranks keep the contract") { test::check_contract(test::mpi_world()); }

TEST_CASE("ranks keep the contract by messages alone, as on several nodes") {
  World world = world_with({.share_memory = false, .chunk_bytes = 1 << 18U});
  test::check_contract(world);
}

TEST_CASE("ranks keep the contract on machines of several each") {
  for (const int ranks : {2, 3}) {
    CAPTURE(ranks);
    World world = world_with({.ranks_of_machine = ranks, .chunk_bytes = 1 << 18U});
    test::check_contract(world);
  }
  const World world = world_with({.max_count = 777, .ranks_of_machine = 3, .chunk_bytes = 5000});
  test::check_all_reduce(*world.devices);
  test::check_reduce_scatter(*world.devices);
  test::check_all_gather(*world.devices);
}

TEST_CASE("ranks keep the contract in tiny messages, as huge tensors need") {
  World world = world_with({.max_count = 777, .share_memory = false, .chunk_bytes = 5000});
  test::check_all_reduce(*world.devices);
  test::check_reduce_scatter(*world.devices);
  test::check_all_gather(*world.devices);
  test::check_all_to_all(*world.devices);
  test::check_many_at_a_time(world);
  test::check_any_order(*world.devices);
}

TEST_CASE("ranks keep the contract with less scratch than ranks") {
  const World world = world_with({.share_memory = false, .chunk_bytes = 8});
  const int rank = world.devices->rank();
  std::vector<float> data(50, static_cast<float>(rank + 1));
  test::run_once(
      *world.devices,
      {.send = data.data(), .recv = data.data(), .reduction = Reduction::kMax, .count = 50});
  CHECK(data == std::vector<float>(50, static_cast<float>(world.devices->size())));
  test::check_all_gather(*world.devices);
}

TEST_CASE("ranks: many calls in a row") {
  test::check_repeated_calls(*test::mpi_world().devices, 2000);
  test::check_repeated_calls(*test::mpi_world().hosts, 2000);
}

TEST_CASE("ranks that prepare different calls are found out") {
  World world = test::mpi_world();
  if (world.devices->size() == 1) return;
  const bool is_odd = world.hosts->rank() == 1;
  std::vector<float> memory(9000);
  const auto prepares = [&](CollectiveCall call) {
    call.send = call.recv = memory.data();
    world.devices->prepare(call, test::immediate_stream());
  };
  prepares({.count = 9000, .purpose = "dense"});
  CHECK_THROWS_AS(prepares({.count = is_odd ? 8999 : 9000}), CheckFailure);
  CHECK_THROWS_AS(prepares({.count = 9000, .purpose = is_odd ? "dense" : "dense_1"}), CheckFailure);
}

TEST_CASE("ranks: who waits for a host leaves the core to others") {
  HostGroup& hosts = *test::mpi_world().hosts;
  if (hosts.size() == 1) return;
  hosts.barrier();
  const auto late = std::chrono::milliseconds(400);
  const std::clock_t before = std::clock();
  if (hosts.rank() == 0) std::this_thread::sleep_for(late);
  hosts.barrier();
  CHECK(static_cast<double>(std::clock() - before) / CLOCKS_PER_SEC < 0.2);
}

TEST_CASE("ranks: the environment knows the world before MPI does") {
  const JobLaunch launch = launch_from_environment();
  CHECK(launch.rank == test::mpi_world().hosts->rank());
  CHECK(launch.size == test::mpi_world().hosts->size());
}

TEST_CASE("ranks: an error of MPI is an Error with its name") {
  try {
    int size = 0;
    MW_MPI(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    MW_MPI(MPI_Comm_rank(MPI_COMM_WORLD, &size));
    MW_MPI(MPI_Bcast(nullptr, -1, MPI_BYTE, 0, MPI_COMM_WORLD));
    CHECK(false);
  } catch (const Error& error) {
    CHECK(error.code() == ExitCode::kCommunication);
    CHECK(std::string(error.what()).starts_with("MPI_Bcast: MPI_ERR_COUNT: "));
  }
}

}  // namespace meshwork
