#pragma once

#include <string>
#include <vector>

namespace meshwork {

/// Whether settings of Open MPI 5's mpirun, its arguments or "name=value" for its parameters, say
/// to which processors ranks are bound: --bind-to, --cpu-set, --rankfile, --map-by with PE=, and
/// the parameters behind them.
bool decide_binding(const std::vector<std::string>& settings);

/// Whether mpirun bound this rank, or Open MPI 5's did not, and the user had not asked for it. Open
/// MPI 4 tells by the environment of a rank; of 5 the settings of mpirun are read, of which its
/// daemon on another machine knows the parameters alone.
bool bound_by_default();

}  // namespace meshwork
