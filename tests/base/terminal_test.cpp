#include "base/terminal.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>

#include "support/environment_variable.h"

namespace meshwork {
namespace {

using testing::EnvironmentVariable;

/// A pseudo-terminal, 57 columns wide.
class PseudoTerminal {
 public:
  PseudoTerminal() : master_(posix_openpt(O_RDWR | O_NOCTTY)) {
    if (grantpt(master_) == 0 && unlockpt(master_) == 0) {
      slave_ = open(ptsname(master_), O_RDWR | O_NOCTTY);
    }
    winsize size{};
    size.ws_col = 57;
    ioctl(slave_, TIOCSWINSZ, &size);
  }
  PseudoTerminal(const PseudoTerminal&) = delete;
  PseudoTerminal& operator=(const PseudoTerminal&) = delete;
  ~PseudoTerminal() {
    close(slave_);
    close(master_);
  }
  int fd() const { return slave_; }

 private:
  int master_;
  int slave_ = -1;
};

TEST_CASE("a terminal is live and tells its width; COLUMNS has the last word") {
  const EnvironmentVariable columns("COLUMNS", nullptr);
  const EnvironmentVariable term("TERM", "xterm");
  const EnvironmentVariable rank("OMPI_COMM_WORLD_RANK", nullptr);
  const PseudoTerminal pseudo;
  const Terminal terminal = terminal_of(pseudo.fd());
  CHECK(terminal.live);
  CHECK(terminal.columns() == 57);
  {
    const EnvironmentVariable set("COLUMNS", "80");
    CHECK(terminal.columns() == 80);
  }
  const EnvironmentVariable nonsense("COLUMNS", "wide");
  CHECK(terminal.columns() == 57);
  const EnvironmentVariable dumb("TERM", "dumb");
  CHECK_FALSE(terminal_of(pseudo.fd()).live);
}

TEST_CASE("a file is no live terminal") {
  const EnvironmentVariable columns("COLUMNS", nullptr);
  const EnvironmentVariable rank("OMPI_COMM_WORLD_RANK", nullptr);
  std::FILE* file = std::tmpfile();
  const Terminal terminal = terminal_of(fileno(file));
  CHECK_FALSE(terminal.live);
  CHECK(terminal.columns() == 0);
  std::fclose(file);
}

TEST_CASE("the terminal that Open MPI gives a rank is not taken for the user's") {
  const EnvironmentVariable columns("COLUMNS", nullptr);
  const EnvironmentVariable term("TERM", "xterm");
  const EnvironmentVariable rank("OMPI_COMM_WORLD_RANK", "0");
  const PseudoTerminal pseudo;
  const Terminal terminal = terminal_of(pseudo.fd());  // a descriptor that no launcher has
  CHECK_FALSE(terminal.live);
  CHECK(terminal.columns() == 0);
}

}  // namespace
}  // namespace meshwork
