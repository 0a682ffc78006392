// Where NCCL's header is missing.
#include "base/error.h"
#include "comm/nccl_communicator.h"

namespace meshwork {

void check_nccl() {
  fail(
      "collectives: nccl: this program was built without NCCL; build it where nccl.h is, or say "
      "collectives: canonical");
}

std::shared_ptr<Communicator> nccl_communicator(std::shared_ptr<Communicator> /*hosts*/,
                                                int /*gpu*/) {
  check_nccl();
  return nullptr;
}

std::string nccl_version() { return "not there: this program was built without it"; }

std::int64_t nccl_call_bytes(const CollectiveCall& /*call*/) { return 0; }

}  // namespace meshwork
