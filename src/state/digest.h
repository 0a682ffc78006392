#pragma once

#include <cstdint>
#include <vector>

#include "comm/host_group.h"
#include "state/tensor_part.h"

namespace meshwork {

/// One number for all tensors, by path, shape, dtype and the bits of every element; the same on all
/// members and for every mesh, so two runs agree to the last bit if their digests do. -0 and 0
/// differ; NaNs are told apart by their bits. `tensors` is the same list, in any order, on every
/// member; `parts` is what this member holds. The members tell each other one word per tensor.
///
/// It is XXH64 over the tensors in path order, each with the sum, modulo 2^64, of a hash of
/// (row-major index, bits) of its elements: sums do not depend on who adds what.
std::uint64_t digest(const std::vector<GlobalTensor>& tensors, const std::vector<TensorPart>& parts,
                     HostGroup& hosts);

}  // namespace meshwork
