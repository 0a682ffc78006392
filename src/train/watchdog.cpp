#include "train/watchdog.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>

#include "base/error.h"
#include "base/file.h"
#include "base/join.h"
#include "base/local_work.h"
#include "base/terminal.h"
#include "base/unfinished_file.h"
#include "comm/collectively.h"
#include "train/run_record.h"

namespace meshwork {
namespace {

namespace fs = std::filesystem;

// A device that does not get on writes what it waits for when half of the limit has passed. A
// little later all have had time to: then it reads what the others wrote. The first of those that
// wait warns of it, and ends the job at the limit. Where that has not ended another one, it ends by
// itself some seconds later.
constexpr double kTellAt = 0.5;      // of the limit
constexpr double kCallRollAt = 0.6;  // of the limit
constexpr double kEndAlone = 5;      // seconds behind the limit

/// Looks at a device in the limit, and the seconds between two at most.
constexpr double kLooks = 20;
constexpr double kLongestPeriod = 1;

/// Seconds for which a word holds where half of the limit is less: a disk may be slow to show it.
constexpr double kShortestWord = 5;

/// Tries to remove the files, to which others may add at that moment.
constexpr int kRemovals = 10;

constexpr const char* kGetsOn = "gets on";

[[noreturn]] void end_job() { end_at_once(ExitCode::kCommunication); }

/// For one job alone, which others run beside.
std::string directory_for(const std::string& run_directory) {
  std::error_code code;
  const bool is_there = fs::is_directory(run_directory, code);
  const fs::path root = is_there ? fs::path(run_directory) : fs::temp_directory_path(code);
  return partial_name((root / ".stalled").string());
}

/// What a device has said of itself; "" if nothing, or not lately.
std::string read_word(const std::string& file, double seconds) {
  std::error_code code;
  const auto written = fs::last_write_time(file, code);
  if (code) return {};
  const std::chrono::duration<double> age = fs::file_time_type::clock::now() - written;
  try {
    return age.count() > seconds ? "" : read_text_file(file);
  } catch (const Error&) {
    return {};
  }
}

}  // namespace

Watchdog::Watchdog(const Session& session, const std::string& run_directory)
    : Watchdog(session.hosts(), &session.streams(), session.job().config.stall_timeout) {
  stay_in(run_directory);
}

Watchdog::Watchdog(const Session& session)
    : Watchdog(session.hosts(), &session.streams(), session.job().config.stall_timeout) {
  stay_beside(session.job().config.run_directory);
}

Watchdog::Watchdog(const Job& job, HostGroup& hosts,
                   const std::optional<std::string>& run_directory)
    : Watchdog(hosts, nullptr, job.config.stall_timeout) {
  run_directory ? stay_in(*run_directory) : stay_beside(job.config.run_directory);
}

void Watchdog::stay_in(const std::string& run_directory) {
  run_directory_ = run_directory;
  holder_ = holder_of(run_directory);
  directory_ = run_directory + "/.stalled";
  remedy_ = ", --resume goes on from the last checkpoint";
  std::error_code ignored;
  fs::remove(file_of(hosts_.rank()), ignored);
  start();
}

void Watchdog::stay_beside(const std::string& run_directory) {
  if (hosts_.rank() == 0) directory_ = directory_for(run_directory);
  broadcast_text(hosts_, directory_, 0);
  start();
}

void Watchdog::start() {
  last_ = sign();
  hosts_.leave_watch_to_others(true);
  if (limit_ > 0) {
    ticker_.emplace(std::min(kLongestPeriod, limit_ / kLooks), [this](double now) { look(now); });
  }
}

Watchdog::~Watchdog() {
  ticker_.reset();
  hosts_.leave_watch_to_others(false);
  std::error_code ignored;
  if (has_file_) fs::remove(file_of(hosts_.rank()), ignored);
  fs::remove(directory_, ignored);  // the last one to leave it empty
}

bool Watchdog::is_held() const { return !holder_ || holder_of(run_directory_) == holder_; }

bool Watchdog::is_taken() const {
  std::error_code ignored;
  return has_file_ && is_held() && !fs::exists(directory_, ignored);
}

Watchdog::Sign Watchdog::sign() const {
  const std::uint64_t done = local_work().done;
  if (streams_ == nullptr) return {.local_work = done};
  const Progress& progress = streams_->progress;
  return {progress.count, progress.program, progress.step, streams_->compute->last_mark(), done};
}

/// It does what waits for nobody.
bool Watchdog::is_at_work() const {
  return local_work().under_way || (streams_ != nullptr && streams_->progress.computes);
}

std::string Watchdog::describe() const {
  if (streams_ == nullptr) return "waits for others at the start";
  if (last_.program == nullptr) return "is between two programs";
  return "is in " + last_.program->describe(last_.step);
}

std::string Watchdog::file_of(int rank) const {
  return fmt::format("{}/rank-{}", directory_, rank);
}

/// Files that cannot be written leave a device that says nothing.
void Watchdog::tell(const std::string& text) {
  if (!is_held()) return;
  try {
    const std::string path = file_of(hosts_.rank());
    if (!has_file_) create_parent_directory(path);
    File file = File::create(path + ".new");
    file.append(text);
    file.close();
    std::error_code ignored;
    fs::rename(path + ".new", path, ignored);  // in one step: another device may be reading
    has_file_ = true;
  } catch (const Error&) {
  }
}

Watchdog::Roll Watchdog::call_roll() const {
  Roll roll;
  std::vector<std::string> words, silent;
  roll.first = hosts_.size();
  for (int rank = 0; rank < hosts_.size(); ++rank) {
    const std::string word =
        is_held() ? read_word(file_of(rank), std::max(kShortestWord, kTellAt * limit_)) : "";
    if (word.empty()) {
      silent.push_back(std::to_string(rank));
      continue;
    }
    roll.one_gets_on = roll.one_gets_on || word == kGetsOn;
    if (word != kGetsOn) roll.first = std::min(roll.first, rank);
    words.push_back(fmt::format("rank {} {}", rank, word));
  }
  roll.all_speak = silent.empty();
  if (!roll.all_speak) {
    words.push_back(fmt::format("rank{} {} say{} nothing: stopped, or gone",
                                silent.size() == 1 ? "" : "s", join(silent, ", "),
                                silent.size() == 1 ? "s" : ""));
  }
  roll.text = join(words, "; ");
  return roll;
}

void Watchdog::look(double now) {
  const Sign current = sign();
  std::error_code ignored;
  if (current != last_ || is_at_work()) {
    last_ = current;
    since_ = now;
    has_warned_ = false;
    // Another one may wait for this device.
    if (has_file_ || fs::exists(directory_, ignored)) tell(kGetsOn);
    return;
  }
  const double waited = now - since_;
  if (waited < kTellAt * limit_) return;
  if (is_taken()) end_job();
  tell(describe());
  if (waited < kCallRollAt * limit_) return;
  const Roll roll = call_roll();
  if (roll.one_gets_on) return;
  if (is_taken()) return;  // while this one read: the roll is of files that were going
  // Where no file can be written, each speaks for itself.
  const bool is_first = roll.first == hosts_.rank() || roll.first == hosts_.size();
  if (is_first && !has_warned_) warn(roll, waited);
  if (is_first && waited >= limit_) end_job_with(roll, waited);
  if (waited > limit_ + kEndAlone) end_job();
}

void Watchdog::warn(const Roll& roll, double waited) {
  has_warned_ = true;
  say(fmt::format("warning: nothing gets on for {:.0f} s: {}; the job ends after {:.0f} s", waited,
                  roll.text, limit_));
}

void Watchdog::end_job_with(const Roll& roll, double waited) const {
  const std::string message = fmt::format(
      "nothing got on for {:.0f} s (stall_timeout): {}; the job ends here{}{}", waited, roll.text,
      remedy_, roll.all_speak ? "; where it only takes longer, set a longer stall_timeout" : "");
  say(message);
  std::fflush(nullptr);
  std::error_code ignored;
  // Under another name first, so that no device writes into it, or makes it anew, meanwhile.
  const std::string gone = partial_name(directory_);
  if (is_held()) fs::rename(directory_, gone, ignored);
  // A file that was being made when it got this name may come to it late.
  for (int tries = 0; tries < kRemovals && fs::exists(gone, ignored); ++tries) {
    fs::remove_all(gone, ignored);
  }
  if (!run_directory_.empty() && is_held()) {
    fail_record_in(run_directory_, ExitCode::kCommunication, message);
  }
  end_job();
}

Session watched_session(const Job& job, const World& world,
                        const std::optional<std::string>& run_directory) {
  const Watchdog watchdog(job, *world.hosts, run_directory);
  return Session(job, world);
}

}  // namespace meshwork
