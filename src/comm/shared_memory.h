#pragma once

#include <mpi.h>

#include <cstddef>

namespace meshwork {

/// `bytes` of zeroed memory that all ranks of `comm` map, or nullptr, for all alike, where they are
/// on several nodes or the system forbids it. Collective. To be returned with munmap. It has no
/// name and no file: it ends with its last process, and a small /dev/shm does not matter.
std::byte* map_shared_memory(MPI_Comm comm, std::size_t bytes);

}  // namespace meshwork
