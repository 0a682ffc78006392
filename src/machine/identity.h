#pragma once

#include <cstdint>

namespace meshwork {

/// A number of the running system: the same in all processes of this machine, in containers too,
/// and on no other machine. Where the system does not tell, it is of this process alone.
std::int64_t machine_identity();

/// A number of this process, which no other has by chance, on this machine or on another: the
/// system's are the same in several containers.
std::int64_t process_mark();

}  // namespace meshwork
