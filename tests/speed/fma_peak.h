#pragma once

namespace meshwork::speed {

/// FLOP/s that `threads` threads, started by the caller, reach together with independent float32
/// multiply-adds in registers.
double fma_peak(int threads);

}  // namespace meshwork::speed
