#include "machine/signals.h"

#include <signal.h>

#include <atomic>
#include <string_view>
#include <utility>

#include "base/check.h"

namespace meshwork {
namespace {

std::atomic<int> noted{0};
std::atomic<bool> is_used{false};

/// Only what a signal handler may do.
void note(int signal) {
  int none = 0;
  if (noted.compare_exchange_strong(none, signal) || signal != SIGINT) return;
  struct sigaction original {};
  original.sa_handler = SIG_DFL;
  sigaction(SIGINT, &original, nullptr);
  raise(SIGINT);
}

constexpr std::pair<int, std::string_view> kNames[] = {
    {SIGTERM, "SIGTERM"}, {SIGUSR1, "SIGUSR1"}, {SIGHUP, "SIGHUP"}, {SIGINT, "SIGINT"}};

sigset_t stop_signals() {
  sigset_t set;
  sigemptyset(&set);
  for (const auto& [signal, name] : kNames) sigaddset(&set, signal);
  return set;
}

}  // namespace

void drop_handlers_of_libraries() {
  for (const auto& [signal, name] : kNames) {
    struct sigaction action {};
    sigaction(signal, nullptr, &action);
    if (action.sa_handler == SIG_IGN) continue;
    action = {};
    action.sa_handler = SIG_DFL;
    sigaction(signal, &action, nullptr);
  }
}

SignalThread::SignalThread() {
  const sigset_t signals = stop_signals();
  pthread_sigmask(SIG_BLOCK, &signals, &before_);
  try {
    thread_ = std::thread([this, signals] {
      pthread_sigmask(SIG_UNBLOCK, &signals, nullptr);
      end_.acquire();
    });
  } catch (...) {
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
    throw;
  }
}

SignalThread::~SignalThread() {
  end_.release();
  thread_.join();
  pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

struct StopSignals::Before {
  int signal = 0;
  struct sigaction action {};
};

StopSignals::StopSignals() {
  MW_CHECK(!is_used.exchange(true), "signals are noted twice");
  noted = 0;
  const auto set = [&](int signal, void (*handler)(int)) {
    Before before{signal};
    sigaction(signal, nullptr, &before.action);
    if (before.action.sa_handler == SIG_IGN) return;
    struct sigaction action {};
    action.sa_handler = handler;
    action.sa_flags = SA_RESTART;
    sigaction(signal, &action, nullptr);
    before_.push_back(before);
  };
  for (const auto& [signal, name] : kNames) set(signal, note);
  // Writing to what is closed, or beyond the size that files may have, is an error where it
  // happens.
  for (const int signal : {SIGPIPE, SIGXFSZ}) set(signal, SIG_IGN);
}

void StopSignals::ignore_rest() {
  for (Before& before : before_) {
    if (before.signal == SIGINT) continue;
    before.action = {};
    before.action.sa_handler = SIG_IGN;
  }
}

StopSignals::~StopSignals() {
  for (const Before& before : before_) sigaction(before.signal, &before.action, nullptr);
  noted = 0;
  is_used = false;
}

int noted_signal() { return noted; }

std::string signal_name(int signal) {
  for (const auto& [number, name] : kNames) {
    if (number == signal) return std::string(name);
  }
  return "signal " + std::to_string(signal);
}

}  // namespace meshwork
