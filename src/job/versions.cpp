#include "job/versions.h"

#include "backend/backend.h"
#include "base/version.h"
#include "comm/mpi.h"

namespace meshwork {

std::map<std::string, std::string> versions() {
  return {{"meshwork", kVersion}, {"mpi", mpi_version()}, {"onednn", onednn_version()}};
}

}  // namespace meshwork
