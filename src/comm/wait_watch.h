#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "base/ticker.h"

namespace meshwork {

/// Ends a job in which a rank waits too long for another one, which is stopped or gone, as long as
/// nobody else watches whether the ranks get on: while a job starts. A rank that has waited for
/// half of the limit says so on stderr, with its machine; after all of it, again, and it ends the
/// process with ExitCode::kCommunication, upon which mpirun ends the others. What a rank does by
/// itself counts nothing; others may wait for it meanwhile, so the limit is several times
/// `patience`.
class WaitWatch {
 public:
  /// `patience`: the stall_timeout, in seconds; 0: nothing is watched.
  WaitWatch(int rank, double patience);
  WaitWatch(const WaitWatch&) = delete;
  WaitWatch& operator=(const WaitWatch&) = delete;

  /// The rank waits for others while this lives; `watch` may be null.
  class Wait {
   public:
    explicit Wait(WaitWatch* watch) : watch_(watch) {
      if (watch_ != nullptr) ++watch_->begun_;
    }
    ~Wait() {
      if (watch_ != nullptr) ++watch_->ended_;
    }
    Wait(const Wait&) = delete;
    Wait& operator=(const Wait&) = delete;

   private:
    WaitWatch* watch_;
  };

  /// Whether somebody else watches from here on.
  void leave_to_others(bool do_watch) { others_watch_ = do_watch; }

 private:
  void look(double now);

  int rank_;
  double patience_;
  std::atomic<std::uint64_t> begun_ = 0, ended_ = 0;  ///< waits
  std::atomic<bool> others_watch_ = false;
  std::uint64_t wait_ = 0;  ///< the one under way that was seen last
  double since_ = 0;        ///< seconds of the ticker when it was first seen
  bool has_warned_ = false;
  std::unique_ptr<Ticker> ticker_;  ///< last: it looks at the others
};

}  // namespace meshwork
