#include "cuda/case_runs.h"

#include <doctest/doctest.h>

#include <cstdlib>
#include <sstream>

#include "support/shared_case.h"

namespace meshwork::testing {
namespace {

/// Half a unit in the last of 8 digits.
constexpr double kRounding = 1.0 / 256;

std::vector<HostTensor> draw_all(const OpCase& op_case) {
  std::vector<HostTensor> inputs;
  for (std::size_t i = 0; i < op_case.inputs.size(); ++i) {
    inputs.push_back(in_dtype(draw(op_case, i), op_case.inputs[i].type.dtype));
  }
  return inputs;
}

void check_call(const OpCase& op_case, const DeviceCall& call, double tolerance) {
  static const auto naive = make_reference_backend();
  const auto run = [&](Backend& backend) {
    return call_kernel(backend, *op_case.op, call.inputs, op_case.attrs, call.output, call.region);
  };
  const HostTensor mine = run(gpu_backend());
  CHECK(difference(mine, run(*naive), tolerance) == "");
  CHECK(mine == run(gpu_backend()));
}

void check_case(const OpCase& op_case, double tolerance) {
  INFO(op_case.name);
  const std::vector<HostTensor> inputs = draw_all(op_case);
  DeviceCall alone{{}, op_case.output, whole_region(op_case.output.shape)};
  for (const HostTensor& input : inputs) alone.inputs.push_back(whole_part(input));
  check_call(op_case, alone, tolerance);
  for (const SharedCase& shared : shared_cases(op_case, inputs)) {
    INFO(shared.factor);
    for (const DeviceCall& call : shared.devices) check_call(op_case, call, tolerance);
  }
}

}  // namespace

bool is_asked_for(std::string_view op) {
  const char* const asked = std::getenv("MESHWORK_OPS");
  if (asked == nullptr) return true;
  std::istringstream list(asked);
  for (std::string name; std::getline(list, name, ',');) {
    if (name == op) return true;
  }
  return false;
}

void check_cases(const std::set<std::string, std::less<>>& ops) {
  std::set<std::string, std::less<>> seen;
  for (const OpCase& op_case : op_cases()) {
    if (!ops.contains(op_case.op->name) || !is_asked_for(op_case.op->name)) continue;
    seen.emplace(op_case.op->name);
    check_case(op_case, op_case.tolerance);
  }
  for (const OpCase& op_case : bfloat16_cases()) {
    if (!ops.contains(op_case.op->name) || !is_asked_for(op_case.op->name)) continue;
    const bool rounded = op_case.output.dtype == DType::kBFloat16;
    check_case(op_case, rounded ? 2 * kRounding : 2 * op_case.tolerance);
  }
  for (const std::string& op : ops) {
    if (is_asked_for(op)) CHECK_MESSAGE(seen.contains(op), "no case of op '", op, "'");
  }
}

bool has_emulated_cudnn() {
  return std::getenv("EMULATED_GPU_CACHE") != nullptr &&
         std::getenv("EMULATED_GPU_CUDNN") == nullptr;
}

bool has_emulated_cublaslt() { return std::getenv("EMULATED_GPU_CACHE") != nullptr; }

Backend& gpu_backend() {
  static const auto backend = make_cuda_backend(0);
  return *backend;
}

}  // namespace meshwork::testing
