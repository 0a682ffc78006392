#pragma once

#include <string>
#include <vector>

#include "job/session.h"

namespace meshwork {

/// Keras's adapt(): gives the variables that begin with statistics of the training data
/// (Normalization) those of the split to train on, as its fields reach the model, before
/// augmentation. They are the same on every mesh, to the last bit. All devices call it, behind
/// initialize(); the result is what the first device has to tell of it.
std::vector<std::string> adapt_to_data(Session& session);

}  // namespace meshwork
