#include "cli/rank.h"

#include <charconv>
#include <cstdlib>
#include <cstring>
#include <initializer_list>

namespace meshwork::cli {
namespace {

int first_number(std::initializer_list<const char*> variables, int least, int fallback) {
  for (const char* variable : variables) {
    const char* text = std::getenv(variable);
    if (text == nullptr) continue;
    int number = 0;
    const auto [stop, status] = std::from_chars(text, text + std::strlen(text), number);
    if (status == std::errc{} && *stop == '\0' && number >= least) return number;
  }
  return fallback;
}

}  // namespace

int launched_rank() { return first_number({"OMPI_COMM_WORLD_RANK", "PMIX_RANK"}, 0, 0); }

int launched_size() { return first_number({"OMPI_COMM_WORLD_SIZE"}, 1, 1); }

}  // namespace meshwork::cli
