// Collectives of ranks on memory of GPUs, which others do not reach.
#include "comm/cuda_communicator.h"

#include <doctest/doctest.h>

#include "comm/contract.h"
#include "comm/hosted_communicator.h"
#include "device/cuda_device.h"
#include "support/mpi_world.h"

using namespace meshwork;

TEST_CASE("ranks with GPUs keep the contract") {
  const World& ranks = test::mpi_world();
  const int gpu = ranks.hosts->rank() % gpu_count();
  World gpus{ranks.hosts, test::hosted_communicator(cuda_communicator(ranks.devices, gpu),
                                                    make_cuda_device(gpu, {}))};
  test::check_contract_in_order(gpus);
}
