#include "support/cuda_devices.h"

#include <utility>

#include "comm/cuda_communicator.h"
#include "device/cuda_device.h"

namespace meshwork::testing {

DeviceFactory cuda_devices() {
  return [](const Target& /*target*/, std::shared_ptr<Communicator> hosts) {
    const int gpu = hosts == nullptr ? 0 : hosts->rank() % gpu_count();
    if (hosts != nullptr) hosts = cuda_communicator(std::move(hosts), gpu);
    return DeviceParts{make_cuda_backend(gpu), std::move(hosts)};
  };
}

}  // namespace meshwork::testing
