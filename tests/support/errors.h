#pragma once

#include <string>

#include "base/error.h"

namespace meshwork::test {

/// The message of the Error that `call` throws, behind its exit code: "3: runs/a: ..."; "" if none.
template <class Call>
std::string error_of(Call call) {
  try {
    call();
  } catch (const Error& error) {
    return std::to_string(static_cast<int>(error.code())) + ": " + error.what();
  }
  return {};
}

inline bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace meshwork::test
