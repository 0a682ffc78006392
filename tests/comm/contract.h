#pragma once

#include "comm/communicator.h"

namespace meshwork::test {

/// Holds a communicator to every promise of communicator.h; all members call it together.
/// One body for one device, threads and ranks.
void check_contract(Communicator& comm);

/// The parts of it.
void check_all_reduce(Communicator& comm);
void check_reduce_scatter(Communicator& comm);
void check_all_gather(Communicator& comm);
void check_all_to_all(Communicator& comm);
void check_broadcast(Communicator& comm);
void check_groups(Communicator& comm);
void check_prepared(Communicator& comm);

/// `rounds` calls of changing kind and size, each buffer overwritten as soon as its call returns.
void check_repeated_calls(Communicator& comm, int rounds);

}  // namespace meshwork::test
