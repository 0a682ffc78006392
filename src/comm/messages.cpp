#include "comm/messages.h"

#include "base/check.h"

namespace meshwork {

MPI_Datatype mpi_type(DType dtype) {
  switch (dtype) {
    case DType::kFloat32:
      return MPI_FLOAT;
    case DType::kInt32:
      return MPI_INT32_T;
    case DType::kInt64:
      return MPI_INT64_T;
    case DType::kUInt8:
      return MPI_UINT8_T;
    case DType::kBFloat16:
    case DType::kFloat16:
      return MPI_UINT16_T;  // moved, never added up
    default:
      break;  // no values of programs
  }
  MW_CHECK(false, "dtype {}", to_string(dtype));
}

void progress_messages() {
  int found = 0;
  MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_SELF, &found, MPI_STATUS_IGNORE);
}

}  // namespace meshwork
