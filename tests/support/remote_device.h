#pragma once

#include <memory>

#include "job/job.h"

namespace meshwork::testing {

/// A device that is not the host, for tests. It computes with the kernels of the CPU, and the same
/// bits come out, but
///   its memory is out of the host's reach: who touches it ends the process with a line that says
///   so;
///   its streams are threads of their own, which do what is enqueued later, each at its own pace;
///   work that is recorded is enqueued with these checks each time it is launched;
///   staging memory holds garbage until the copy to it is done, and a copy from it fails if it has
///   changed meanwhile;
///   two pieces of work that use the same bytes, one of them writing, and that no event and no
///   stream orders, are an Error that names both, however they happen to run.
/// `seed` draws how the streams dawdle.
std::unique_ptr<Backend> make_remote_backend(int threads, std::uint64_t seed = 1);

/// The communicator of remote devices over that of their hosts, which are threads of one process.
std::shared_ptr<Communicator> remote_communicator(std::shared_ptr<Communicator> hosts);

/// Remote devices for a job.
DeviceFactory remote_devices(std::uint64_t seed = 1);

}  // namespace meshwork::testing
