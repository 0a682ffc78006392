#pragma once

#include <fmt/format.h>

#include <stdexcept>
#include <string>
#include <utility>

namespace meshwork {

/// A broken invariant of the program itself: never the user's fault. All devices stop.
class CheckFailure : public std::logic_error {
 public:
  using std::logic_error::logic_error;
};

[[noreturn]] void check_failed(const char* file, int line, const char* condition,
                               const std::string& detail);

inline std::string check_detail() { return {}; }
template <class... Args>
std::string check_detail(fmt::format_string<Args...> format, Args&&... args) {
  return fmt::format(format, std::forward<Args>(args)...);
}

}  // namespace meshwork

/// MW_CHECK(condition) or MW_CHECK(condition, "format {}", values...): on in every build.
#define MW_CHECK(condition, ...)                                       \
  do {                                                                 \
    if (!(condition)) {                                                \
      ::meshwork::check_failed(__FILE__, __LINE__, #condition,         \
                               ::meshwork::check_detail(__VA_ARGS__)); \
    }                                                                  \
  } while (false)
