#pragma once

#include <cstdint>

namespace meshwork {

/// A number of the running system: the same in all processes of this machine, in containers too,
/// and on no other machine. Where the system does not tell, it is of this process alone.
std::int64_t machine_identity();

}  // namespace meshwork
