#include "exec/idle_threads.h"

#include <algorithm>

#include "graph/flops.h"
#include "graph/op_def.h"

namespace meshwork {
namespace {

/// Of one thread, on values in its caches.
constexpr double kFlopsPerSecond = 50e9;
constexpr double kBytesPerSecond = 30e9;
constexpr double kSecondsOfCall = 0.1e-6;

/// To call other threads and to wait for them takes one or two microseconds.
constexpr double kLongEnough = 8e-6;

}  // namespace

double idle_seconds(const Backend& backend, const Graph& program, const Instruction& instruction) {
  if (instruction.kind != Instruction::Kind::kKernel) return 0;
  double seconds = kSecondsOfCall;
  for (const ValueId id : instruction.nodes) {
    const Node& node = program.node(id);
    const std::vector<TensorType> inputs = input_types(program, node);
    const double flops = flops_of(program, node);
    if (!backend.leaves_threads_idle(node.op->name, inputs, node.type, flops)) return 0;
    auto bytes = static_cast<double>(num_bytes(node.type));
    for (const TensorType& input : inputs) bytes += static_cast<double>(num_bytes(input));
    seconds += std::max(flops / kFlopsPerSecond, bytes / kBytesPerSecond);
  }
  return seconds;
}

std::vector<StepRange> long_enough(const std::vector<double>& seconds) {
  std::vector<StepRange> ranges;
  for (std::size_t begin = 0; begin < seconds.size();) {
    double together = 0;
    std::size_t end = begin;
    while (end < seconds.size() && seconds[end] > 0) together += seconds[end++];
    if (together >= kLongEnough) ranges.push_back({begin, end});
    begin = end + 1;
  }
  return ranges;
}

}  // namespace meshwork
