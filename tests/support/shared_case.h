#pragma once

#include <string>
#include <vector>

#include "ops/cases.h"
#include "support/kernel_call.h"

namespace meshwork {

/// What one of two devices computes of a case.
struct DeviceCall {
  std::vector<Part> inputs;
  TensorType output;
  Region region;
};

/// A case as two devices share a factor of its dimension rule.
struct SharedCase {
  std::string factor;   ///< "a b, b c -> a c cut at b"
  bool partial = true;  ///< each device has all of the result, of its elements of the factor alone
  std::vector<DeviceCall> devices;
};

/// The case with every factor that can be cut, once in halves and once with all elements on the
/// first device.
std::vector<SharedCase> shared_cases(const OpCase& op_case, const std::vector<HostTensor>& inputs);

/// The same numbers as float32, bfloat16 or float16, rounded.
HostTensor in_dtype(const HostTensor& from, DType dtype);

/// Whether backends compute the op: it is no leaf that others fill, and sends nothing.
bool has_kernel(const OpDef& op);

}  // namespace meshwork
