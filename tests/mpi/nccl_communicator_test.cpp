// Ranks with a GPU each exchange by NCCL; ranks that share one are refused.
#include "comm/nccl_communicator.h"

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "base/check.h"
#include "comm/contract.h"
#include "comm/hosted_communicator.h"
#include "device/cuda_device.h"
#include "support/errors.h"
#include "support/mpi_world.h"

using namespace meshwork;

namespace {

int gpu_of_rank() { return test::mpi_world().hosts->rank() % gpu_count(); }

bool has_gpus() { return test::mpi_world().hosts->size() <= gpu_count(); }

}  // namespace

TEST_CASE("ranks keep the contract by NCCL, but for the order of sums") {
  if (!has_gpus()) return;
  const World& ranks = test::mpi_world();
  World mine{ranks.hosts, test::hosted_communicator(nccl_communicator(ranks.devices, gpu_of_rank()),
                                                    make_cuda_device(gpu_of_rank(), {}))};
  test::check_contract_but_sums(mine);
}

TEST_CASE("ranks by NCCL that prepare different calls are found out") {
  if (!has_gpus()) return;
  const auto stream = make_cuda_device(gpu_of_rank(), {})->make_stream();
  const auto devices = nccl_communicator(test::mpi_world().devices, gpu_of_rank());
  const std::int64_t count = devices->rank() == 1 ? 8999 : 9000;
  CHECK_THROWS_AS(devices->prepare({.count = count}, *stream), CheckFailure);
}

TEST_CASE("ranks by NCCL on one GPU are refused, all of them") {
  if (has_gpus()) return;
  const std::string error =
      test::error_of([] { nccl_communicator(test::mpi_world().devices, gpu_of_rank()); });
  CHECK(error.starts_with("2: collectives: nccl: devices 0 and "));
}
