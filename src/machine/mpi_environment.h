#pragma once

#include <chrono>

#include "machine/launch.h"

namespace meshwork {

/// Sets Open MPI's parameters (environment variables OMPI_MCA_*, those not yet set) that fit this
/// machine, before MPI_Init: no warnings that a user can do nothing about, no reading of another
/// process's memory where a container forbids it, no shared memory in a /dev/shm too small for it,
/// messages over TCP that go both ways at a time, and waiting that yields to other programs, and to
/// ranks where they outnumber cores.
void prepare_mpi_environment(const JobLaunch& launch);

/// How long ranks of this job spin in a wait for each other (base/wait.h).
std::chrono::nanoseconds rank_spin_time();

/// Whether the kernel lets this process read another's memory (process_vm_readv); containers often
/// forbid it, and Open MPI then prints an error for each message.
bool can_read_other_processes();

}  // namespace meshwork
