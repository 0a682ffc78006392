#pragma once

#include "backend/backend.h"

namespace meshwork::cuda {

Launch assign_slots(const KernelArgs& args);
Launch combine(const KernelArgs& args);
Launch convert_stored(const KernelArgs& args);
Launch dispatch(const KernelArgs& args);
Launch embedding(const KernelArgs& args);
Launch embedding_gradient(const KernelArgs& args);
std::int64_t embedding_gradient_workspace(const KernelArgs& args);
Launch one_hot(const KernelArgs& args);
Launch pack_chosen(const KernelArgs& args);
Launch unpack_chosen(const KernelArgs& args);
/// The workspace of both: for each block of the result the number of the one that goes there.
std::int64_t chosen_bytes(const KernelArgs& args);
Launch take_along_axis(const KernelArgs& args);
Launch take_rows(const KernelArgs& args);
Launch write_rows(const KernelArgs& args);
std::int64_t write_rows_workspace(const KernelArgs& args);

}  // namespace meshwork::cuda
