#pragma once

#include <vector>

#include "backend/backend.h"
#include "graph/op_def.h"
#include "support/host_tensor.h"

namespace meshwork {

/// What one device holds of a tensor.
struct Part {
  HostTensor tensor;
  Region region;
};

/// A tensor that one device holds whole.
Part whole_part(HostTensor tensor);

/// The device's part of `whole` where dimension `dim` begins at `offset` and has `extent` elements.
Part part_of(const HostTensor& whole, std::size_t dim, std::int64_t offset, std::int64_t extent);

/// The result of the backend's kernel of an op on one device: of local type `output`, lying at
/// `region` of the global result.
HostTensor call_kernel(Backend& backend, const OpDef& op, const std::vector<Part>& inputs,
                       const Attrs& attrs, const TensorType& output, const Region& region);

}  // namespace meshwork
