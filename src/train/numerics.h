#pragma once

#include "base/error.h"
#include "job/session.h"

namespace meshwork {

/// What a program has computed is no finite number.
class NonFiniteError : public Error {
 public:
  explicit NonFiniteError(const std::string& message) : Error(ExitCode::kTraining, message) {}
};

/// Runs a program and looks at all floating-point values that it reads and computes, each as soon
/// as it is there, which takes several times as long. All devices call it. Throws a NonFiniteError
/// on all of them that names the first value, in the order of the program, with a NaN or an
/// infinity: "layer 'd1': relu gives inf at [3, 7] of [32, 200] (2 elements are not finite)". An
/// Error of the device names what was computed.
void run_checked(const Session& session, const Executable& executable);

}  // namespace meshwork
