#include "job/versions.h"

#include "backend/backend.h"
#include "backend/cuda_libraries.h"
#include "base/version.h"
#include "comm/mpi.h"
#include "comm/nccl_communicator.h"

namespace meshwork {

std::map<std::string, std::string> versions() {
  return {{"meshwork", kVersion}, {"mpi", mpi_version()}, {"onednn", onednn_version()}};
}

std::string gpu_convolutions() { return convolution_library(); }

std::string gpu_collectives() { return nccl_version(); }

}  // namespace meshwork
