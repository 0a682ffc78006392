#include "comm/wait_watch.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "base/host_name.h"
#include "base/terminal.h"
#include "base/unfinished_file.h"

namespace meshwork {
namespace {

/// The limit of a wait, in times of the patience: another rank may compile or read data meanwhile.
constexpr double kPatiences = 5;

/// Looks in one patience, and the seconds between two at most.
constexpr double kLooks = 20;
constexpr double kLongestPeriod = 1;

/// Seconds between the ends of two ranks, at most of so many: mpirun ends all others after the
/// first.
constexpr int kTurns = 5;

}  // namespace

WaitWatch::WaitWatch(int rank, double patience) : rank_(rank), patience_(patience) {
  if (patience <= 0) return;
  ticker_ = std::make_unique<Ticker>(std::min(kLongestPeriod, patience / kLooks),
                                     [this](double now) { look(now); });
}

void WaitWatch::look(double now) {
  const std::uint64_t ended = ended_;  // first: what begins meanwhile is under way
  const std::uint64_t begun = begun_;
  if (others_watch_ || begun == ended || begun != wait_) {
    wait_ = begun;
    since_ = now;
    has_warned_ = false;
    return;
  }
  const double waited = now - since_;
  const double limit = kPatiences * patience_;
  if (waited >= limit / 2 && !has_warned_) {
    has_warned_ = true;
    say(fmt::format(
        "warning: rank {} on {} waits for {:.0f} s at the start for another rank, one of those "
        "that do not say so; the job ends after {:.0f} s",
        rank_, host_name(), waited, limit));
  }
  if (waited < limit + std::min(rank_, kTurns)) return;
  say(fmt::format(
      "rank {} on {} has waited for {:.0f} s at the start ({:.0f} times stall_timeout) for another "
      "rank, which is stopped or gone; the job ends here; where it only takes longer, set a longer "
      "stall_timeout",
      rank_, host_name(), waited, kPatiences));
  end_at_once(ExitCode::kCommunication);
}

}  // namespace meshwork
