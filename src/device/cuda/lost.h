#pragma once

#include <cuda.h>

#include <exception>

namespace meshwork::cuda {

// GPUs of one process wait for each other's events. What waits for one that has failed may wait for
// ever, so whoever waits looks meanwhile whether one has; behind that nothing is given back, for
// the driver would wait for the same work first. For any thread.

/// A GPU more is in use.
void note_opened() noexcept;
/// Whether there are several, so that work of one may wait for another.
bool are_several() noexcept;

/// Whether a GPU that gives this result has failed for good, and whatever it holds is lost.
bool is_fatal(CUresult result) noexcept;
/// One has; of several reasons the first counts.
void note_lost(std::exception_ptr reason) noexcept;
bool is_one_lost() noexcept;
/// Whether that is so long ago that the thread of the lost one has told it.
bool is_loss_told() noexcept;
/// Throws the reason, where one is lost.
void check_none_lost();

}  // namespace meshwork::cuda
