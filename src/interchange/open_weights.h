#pragma once

#include <string>
#include <vector>

#include "config/config.h"
#include "state/weights_file.h"

namespace meshwork {

/// Opens a file of weights of any format for the model of a configuration. Where it knows none of
/// the variables by its path, the `weights_map` of the configuration says which tensor is which,
/// and with `may_lack` which variables the file need not have. Of whatever format, it need not have
/// those that `may_keep` their values. `notes`: what a config.json beside it says otherwise than
/// the configuration, and what is uncertain about which tensor is which.
WeightsFile open_weights(const config::Config& config, const std::string& file,
                         const std::vector<GlobalTensor>& weights, bool may_lack,
                         const MayKeep& may_keep = {}, std::vector<std::string>* notes = nullptr);

}  // namespace meshwork
