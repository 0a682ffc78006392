#pragma once

#include <vector>

#include "config/weights_map.h"
#include "state/renamed_tensors.h"
#include "state/stored_tensors.h"

namespace meshwork {

/// Where the map says that these variables stand in a file, in the order of its tensors. Every
/// tensor of the file must match one pattern of the map, and every variable, or each of its slices,
/// get one tensor, of its shape when it is rearranged: else an Error of ExitCode::kFile lists what
/// does not fit, with its places in the map. With `may_lack`, variables that the map lets a file
/// lack are left out of the result; so are those that `may_keep` their values where nothing fits
/// them.
std::vector<RenamedTensor> map_weights(const config::WeightsMap& map, const TensorFile& file,
                                       const std::vector<GlobalTensor>& variables, bool may_lack,
                                       const MayKeep& may_keep = {});

}  // namespace meshwork
