#pragma once

#include "job/job.h"

namespace meshwork {

/// How long a device computes, by itself.
struct TimeAlone {
  double seconds = 0;  ///< of a step, the median of several
  int threads = 0;     ///< of a CPU that have computed it; 0: a GPU has
};

/// Times the program `key` of `device` on this machine, which it has for itself: exchanges take no
/// time, samples are zeros that are already there. So one machine tells what each of many like it
/// would compute. Needs the memory of one device.
TimeAlone time_alone(const Job& job, const ProgramKey& key, int device);

}  // namespace meshwork
