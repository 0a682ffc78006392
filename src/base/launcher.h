#pragma once

namespace meshwork {

/// The nearest process above this one that is Open MPI's mpirun, or its daemon on this machine; 0
/// if there is none.
int launcher_process();

}  // namespace meshwork
