#pragma once

#include <cstdint>
#include <string>

#include "job/session.h"

namespace meshwork {

/// Reads weights and the optimizer's state of a checkpoint. All devices call it. Throws an Error of
/// ExitCode::kFile that ends with `way_out` where it has no such state, as that of another
/// optimizer.
void load_checkpoint(Session& session, const Checkpoint& checkpoint, const std::string& way_out);

struct LoadedStart {
  std::int64_t iteration = 0;  ///< steps that the optimizer has done whose state was read, else 0
  std::string note = {};       ///< what to say of variables of a checkpoint that are not taken
};

/// Reads the weights, and the optimizer's state where it is there, that training starts from: of a
/// file, or of the directory of a checkpoint.
LoadedStart load_start(Session& session, const std::string& from);

}  // namespace meshwork
