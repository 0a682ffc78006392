#include "machine/signals.h"

#include <doctest/doctest.h>
#include <signal.h>

namespace meshwork {
namespace {

using Handler = void (*)(int);

bool is_handled_by(Handler handler, int number) {
  struct sigaction action {};
  sigaction(number, nullptr, &action);
  return action.sa_handler == handler;
}

TEST_CASE("signals: what a library has set at its start is dropped, and what is ignored stays") {
  const Handler hangup = signal(SIGHUP, [](int) {});
  const Handler user = signal(SIGUSR1, SIG_IGN);
  drop_handlers_of_libraries();
  CHECK(is_handled_by(SIG_DFL, SIGHUP));
  CHECK(is_handled_by(SIG_IGN, SIGUSR1));
  signal(SIGHUP, hangup);
  signal(SIGUSR1, user);
}

}  // namespace
}  // namespace meshwork
