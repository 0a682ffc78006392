#pragma once

#include <functional>
#include <string_view>

namespace meshwork {

/// What is known of the place where lines are drawn.
struct Terminal {
  bool live = false;                                ///< a line can be drawn over
  std::function<int()> columns = [] { return 0; };  ///< width now; 0: unknown
};

/// The terminal behind a file descriptor; not live for files, pipes and TERM=dumb. The width is
/// COLUMNS if set, else what the terminal says. Under mpirun it is the terminal that mpirun itself
/// writes to, if it does.
Terminal terminal_of(int fd);

/// Prints "meshwork: LINE" to stderr, as a terminal may show it. Where nobody hears it, the program
/// goes on.
void say(std::string_view line) noexcept;

}  // namespace meshwork
