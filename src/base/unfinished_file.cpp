#include "base/unfinished_file.h"

#include <signal.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <utility>

namespace meshwork {
namespace {

/// A path that a signal handler may read: it is written before `is_used` is set.
struct Place {
  std::atomic<bool> is_used{false};
  std::array<char, PATH_MAX> path{};
};

std::array<Place, 32> places;
std::mutex mutex;  ///< of those who enter and leave

/// Only what a signal handler may do.
void remove_all() {
  for (const Place& place : places) {
    if (place.is_used) ::unlink(place.path.data());
  }
}

void remove_and_end(int signal) {
  const int error = errno;  // of what is interrupted
  remove_all();
  raise(signal);  // ends the process when this returns: SA_RESETHAND
  errno = error;
}

/// Handlers of others, and signals that are to be ignored, stay as they are.
void listen() {
  for (const int signal : {SIGTERM, SIGINT, SIGHUP, SIGUSR1}) {
    struct sigaction action {};
    sigaction(signal, nullptr, &action);
    if ((action.sa_flags & SA_SIGINFO) != 0 || action.sa_handler != SIG_DFL) continue;
    action.sa_handler = remove_and_end;
    action.sa_flags = static_cast<int>(SA_RESETHAND);
    sigaction(signal, &action, nullptr);
  }
}

/// -1 where there is none left.
int enter(const std::string& path) {
  const std::lock_guard lock(mutex);
  listen();
  if (path.size() >= PATH_MAX) return -1;
  for (std::size_t i = 0; i < places.size(); ++i) {
    if (places[i].is_used) continue;
    std::memcpy(places[i].path.data(), path.c_str(), path.size() + 1);
    places[i].is_used = true;
    return static_cast<int>(i);
  }
  return -1;
}

void leave(int place) {
  const std::lock_guard lock(mutex);
  if (place >= 0) places[static_cast<std::size_t>(place)].is_used = false;
}

}  // namespace

UnfinishedFile::UnfinishedFile(std::string path) : path_(std::move(path)), place_(enter(path_)) {}

UnfinishedFile::UnfinishedFile(UnfinishedFile&& other) noexcept
    : path_(std::move(other.path_)),
      place_(std::exchange(other.place_, -1)),
      is_kept_(std::exchange(other.is_kept_, true)) {}

UnfinishedFile::~UnfinishedFile() {
  if (!is_kept_) ::unlink(path_.c_str());
  leave(place_);
}

void UnfinishedFile::keep() {
  is_kept_ = true;
  leave(std::exchange(place_, -1));
}

void end_at_once(ExitCode code) {
  remove_all();
  std::_Exit(static_cast<int>(code));
}

}  // namespace meshwork
