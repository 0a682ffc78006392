#pragma once

#include <functional>
#include <string>
#include <vector>

#include "comm/communicator.h"
#include "exec/executable.h"

namespace meshwork::speed {

/// One kernel or collective of a program.
struct KernelTime {
  std::string op = {};
  std::string path = {};    ///< of the layer
  std::string shapes = {};  ///< "[128, 784] [784, 128] -> [128, 128]"
  bool is_collective = false;
  double seconds = 0;
  double step_seconds = 0;  ///< among the others, as a step runs it
  double flops = 0;         ///< of what is no collective
  double bytes = 0;         ///< of operands and result
};

struct ProgramTimes {
  std::vector<KernelTime> kernels;  ///< in the order of the program
  double input_seconds = 0;         ///< of one batch
};

/// Times every kernel and collective of a program, run again and again by itself, and in whole
/// steps, each behind a `fill` of the inputs; for about `seconds`. The values of the program are
/// undefined afterwards, and its variables have changed. All devices call it with the same program.
ProgramTimes time_program(const Executable& executable, Communicator& world, double seconds,
                          const std::function<void()>& fill);

}  // namespace meshwork::speed
