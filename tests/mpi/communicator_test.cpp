#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "comm/contract.h"
#include "comm/mpi_check.h"
#include "comm/mpi_communicator.h"
#include "machine/launch.h"
#include "support/mpi_world.h"

namespace meshwork {
namespace {

std::unique_ptr<Communicator> world_with(const MpiLimits& limits) {
  MPI_Comm comm = MPI_COMM_NULL;
  MW_MPI(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
  return mpi_communicator(comm, limits);
}

}  // namespace

TEST_CASE("ranks keep the contract") { test::check_contract(test::mpi_world()); }

TEST_CASE("ranks keep the contract by messages alone, as on several nodes") {
  test::check_contract(*world_with({.share_memory = false, .chunk_bytes = 1 << 18U}));
}

TEST_CASE("ranks keep the contract in a small piece of shared memory") {
  const auto comm = world_with({.stage_bytes = 1000});
  test::check_all_reduce(*comm);
  test::check_reduce_scatter(*comm);
  test::check_all_gather(*comm);
}

TEST_CASE("ranks keep the contract in tiny messages, as huge tensors need") {
  const auto comm =
      world_with({.max_count = 777, .small_bytes = 64, .share_memory = false, .chunk_bytes = 5000});
  test::check_all_reduce(*comm);
  test::check_reduce_scatter(*comm);
  test::check_all_gather(*comm);
  test::check_all_to_all(*comm);
  test::check_broadcast(*comm);
  test::check_prepared(*comm);
}

TEST_CASE("ranks keep the contract with less scratch than ranks") {
  const auto comm = world_with({.small_bytes = 0, .share_memory = false, .chunk_bytes = 8});
  std::vector<float> data(50, static_cast<float>(comm->rank() + 1));
  comm->all_reduce(data.data(), data.data(), 50, DType::kFloat32, Reduction::kMax);
  CHECK(data == std::vector<float>(50, static_cast<float>(comm->size())));
  test::check_all_gather(*comm);
}

TEST_CASE("ranks: many calls in a row") { test::check_repeated_calls(test::mpi_world(), 2000); }

TEST_CASE("ranks: the environment knows the world before MPI does") {
  const JobLaunch launch = launch_from_environment();
  CHECK(launch.rank == test::mpi_world().rank());
  CHECK(launch.size == test::mpi_world().size());
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
