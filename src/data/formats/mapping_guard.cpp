#include "data/formats/mapping_guard.h"

#include <signal.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstring>
#include <mutex>

#include "base/error.h"

namespace meshwork::data {
namespace {

/// Written under a lock; read by the handler of a signal, which may not wait for one. A free place
/// has no begin.
struct Guarded {
  std::atomic<const std::byte*> begin = nullptr;
  std::atomic<const std::byte*> end = nullptr;
  std::atomic<const char*> path = nullptr;
};

// Of more mappings than this the later ones are not guarded.
std::array<Guarded, 1024> guarded;
std::mutex mutex;

/// Only what a signal handler may do.
void write_text(const char* text) {
  [[maybe_unused]] const ssize_t ignored = write(STDERR_FILENO, text, std::strlen(text));
}

void on_bus_error(int signal, siginfo_t* info, void*) {
  const auto* at = static_cast<const std::byte*>(info->si_addr);
  for (const Guarded& mapping : guarded) {
    const std::byte* begin = mapping.begin;
    if (begin == nullptr || at < begin || at >= mapping.end) continue;
    write_text("meshwork: ");
    write_text(mapping.path);
    write_text(
        ": cannot be read to its end: it was cut while it was in use, or its disk fails; "
        "see that nobody writes to it\n");
    _exit(static_cast<int>(ExitCode::kFile));
  }
  // No mapping of ours: the access is tried again, fails again, and ends the process by SIGBUS.
  struct sigaction original {};
  original.sa_handler = SIG_DFL;
  sigaction(signal, &original, nullptr);
}

void listen() {
  struct sigaction action {};
  action.sa_sigaction = on_bus_error;
  action.sa_flags = SA_SIGINFO;
  sigaction(SIGBUS, &action, nullptr);
}

}  // namespace

void guard_mapping(std::span<const std::byte> mapping, const std::string& path) {
  const std::lock_guard lock(mutex);
  static const bool is_listening = (listen(), true);
  for (Guarded& place : guarded) {
    if (!is_listening || place.begin != nullptr) continue;
    place.path = path.c_str();
    place.end = mapping.data() + mapping.size();
    place.begin = mapping.data();
    return;
  }
}

void unguard_mapping(std::span<const std::byte> mapping) {
  const std::lock_guard lock(mutex);
  for (Guarded& place : guarded) {
    if (place.begin == mapping.data()) place.begin = nullptr;
  }
}

}  // namespace meshwork::data
