#include "comm/cuda_communicator.h"
#include "device/cuda_device.h"

namespace meshwork {

std::shared_ptr<Communicator> cuda_communicator(std::shared_ptr<Communicator> hosts, int gpu,
                                                std::int64_t /*machine*/) {
  make_cuda_device(gpu, {});  // says what is missing
  return hosts;
}

std::int64_t cuda_call_bytes(const CollectiveCall& /*call*/) { return 0; }

}  // namespace meshwork
