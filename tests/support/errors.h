#pragma once

#include <string>

#include "base/error.h"

namespace meshwork::test {

/// What errors about tensors that do not fit a model end with.
inline const std::string kMisfitWayOut =
    "give the model that the file is of, or begin what differs anew: fit --skip-mismatch 'REGEX'";

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
