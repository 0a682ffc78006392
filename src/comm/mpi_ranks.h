#pragma once

#include <mpi.h>

#include <exception>

#include "comm/mpi_check.h"

namespace meshwork {

/// The ranks of a communicator of MPI, which it takes over and frees. Failures are returned.
struct MpiRanks {
  explicit MpiRanks(MPI_Comm taken) : comm(taken) {
    MW_MPI(MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN));
    MW_MPI(MPI_Comm_rank(comm, &rank));
    MW_MPI(MPI_Comm_size(comm, &size));
  }
  ~MpiRanks() {
    int finalized = 0;
    MPI_Finalized(&finalized);
    // To free is collective: when an exception unwinds this rank, the others may never come.
    if (finalized == 0 && std::uncaught_exceptions() == 0) MPI_Comm_free(&comm);
  }
  MpiRanks(const MpiRanks&) = delete;
  MpiRanks& operator=(const MpiRanks&) = delete;

  MPI_Comm comm;
  int rank = 0;
  int size = 1;
};

}  // namespace meshwork
