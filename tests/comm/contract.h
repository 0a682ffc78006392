#pragma once

#include "comm/communicator.h"

namespace meshwork::test {

/// Holds a world to every promise of communicator.h and host_group.h; all members call it together.
/// One body for one device, threads and ranks.
void check_contract(World& world);

/// The same but for check_any_order: of streams that do later what is enqueued, on which members
/// start calls in one order.
void check_contract_in_order(World& world);
/// The same without the canonical order of sums.
void check_contract_but_sums(World& world);

/// The parts of it.
void check_host_group(HostGroup& hosts);
void check_all_reduce(Communicator& comm);
void check_reduce_scatter(Communicator& comm);
void check_all_gather(Communicator& comm);
void check_all_to_all(Communicator& comm);
void check_groups(World& world);
/// Several calls under way, started by all in the same order.
void check_many_at_a_time(World& world);
/// Everyone starts and waits in an order of its own.
void check_any_order(Communicator& comm);

/// `rounds` calls of changing kind and size, each buffer overwritten as soon as its call returns.
void check_repeated_calls(HostGroup& hosts, int rounds);
void check_repeated_calls(Communicator& comm, int rounds);

/// A stream of the host.
Stream& immediate_stream();

/// Prepares a call and runs it once.
void run_once(Communicator& comm, const CollectiveCall& call);

}  // namespace meshwork::test
