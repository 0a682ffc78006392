#pragma once

#include <string>
#include <vector>

#include "comm/communicator.h"
#include "exec/executable.h"

namespace meshwork::speed {

/// One kernel or collective of a program, run again and again by itself.
struct KernelTime {
  std::string op = {};
  std::string path = {};    ///< of the layer
  std::string shapes = {};  ///< "[128, 784] [784, 128] -> [128, 128]"
  bool is_collective = false;
  double seconds = 0;
  double flops = 0;  ///< of what is no collective
  double bytes = 0;  ///< of operands and result
};

/// Times every step of a program whose inputs are filled, in the order of the program, for about
/// `seconds`. The values of the program are undefined afterwards, and its variables have changed.
/// All devices call it with the same program.
std::vector<KernelTime> time_kernels(const Executable& executable, Communicator& world,
                                     double seconds);

}  // namespace meshwork::speed
