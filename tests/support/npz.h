#pragma once

#include <string>

#include "support/host_tensor.h"

namespace meshwork {

/// An array of a .npz file, as float32, or int32 where whole numbers are stored.
HostTensor read_npz(const std::string& file, const std::string& array);

/// Names of the arrays that begin with `prefix`, in the order of the file.
std::vector<std::string> npz_names(const std::string& file, const std::string& prefix);

}  // namespace meshwork
