#pragma once

#include <chrono>
#include <cstdint>

#include "comm/wait_word.h"

namespace meshwork {

/// The meeting point of `size` threads, again and again, until someone breaks it. Who waits spins
/// for `spin`, then sleeps.
class BreakableBarrier {
 public:
  BreakableBarrier(int size, std::chrono::nanoseconds spin);

  /// Returns true when all have arrived, false if the barrier was broken before: one meeting ends
  /// the same way for all. Once broken, no later meeting takes place.
  bool meet();

  /// A meeting to which all are sure to come without waiting for anything else: takes place even
  /// when broken, so that nobody's memory goes away while another still reads it.
  void meet_even_if_broken();

  void break_up() noexcept;

 private:
  bool arrive(bool breakable);

  std::uint32_t size_;
  std::chrono::nanoseconds spin_;
  // generation (16 bits), arrived (15), broken (1): one word, so that no meeting can be both
  // complete and broken.
  alignas(64) WaitWord state_{};
};

}  // namespace meshwork
