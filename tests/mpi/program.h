#pragma once

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <cstdlib>
#include <string>

#include "job.h"

// Runs of the program as a user starts it.
namespace meshwork::test {

inline std::string program() { return std::getenv("MESHWORK_TEST_PROGRAM"); }

inline std::string under_mpirun(int ranks) {
  return fmt::format("mpirun --oversubscribe -n {} {}", ranks, program());
}

/// What a run prints on both streams, which must be all right.
inline std::string output(const std::string& command) {
  const Ending ending = run_job(command);
  CAPTURE(command);
  CAPTURE(ending.output);
  CHECK(ending.exit_code == 0);
  return ending.output;
}

inline int count(const std::string& text, const std::string& part) {
  int found = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) {
    ++found;
  }
  return found;
}

inline bool contains(const std::string& text, const std::string& part) {
  return count(text, part) > 0;
}

}  // namespace meshwork::test
