#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model/program_kind.h"
#include "plan/plan.h"

namespace meshwork::testing {

/// A tensor that a device gives to a collective.
struct Sent {
  std::string op;
  Phase phase;
  std::vector<std::int64_t> members;
  std::int64_t elements;
  std::string path;  ///< of the layer
};

/// The training step of a configuration, or one that accumulates, for a full batch, on one device
/// of a mesh.
Plan training_plan(const std::string& text, const std::string& mesh, int device,
                   ProgramKind kind = ProgramKind::kTrain);

/// In the order of the plan. What an exchange gives counts without the device's own part.
std::vector<Sent> sent_by(const Plan& plan);

/// Elements of all weights.
std::int64_t parameters(const Plan& plan);

/// All but the sums of loss and metrics.
std::vector<Sent> tensors(std::vector<Sent> sent);

std::int64_t elements(const std::vector<Sent>& sent);

}  // namespace meshwork::testing
