#pragma once

#include <mpi.h>

#include <array>
#include <string>
#include <string_view>

#include "base/error.h"

namespace meshwork {

/// Throws an Error for any code but MPI_SUCCESS: "MPI_Bcast: MPI_ERR_TRUNCATE: message truncated".
inline void mpi_check(int code, std::string_view call) {
  if (code == MPI_SUCCESS) return;
  std::array<char, MPI_MAX_ERROR_STRING + 1> text{};
  int length = 0;
  if (MPI_Error_string(code, text.data(), &length) != MPI_SUCCESS) length = 0;
  fail(ExitCode::kCommunication, "{}: {} (error {}); a rank may have failed",
       call.substr(0, call.find('(')),
       std::string_view(text.data(), static_cast<std::size_t>(length)), code);
}

}  // namespace meshwork

/// MW_MPI(MPI_Barrier(comm)): a failed call throws an Error of ExitCode::kCommunication.
#define MW_MPI(call) ::meshwork::mpi_check((call), #call)
