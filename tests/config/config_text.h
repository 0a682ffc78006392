#pragma once

#include <string>
#include <vector>

#include "config/config.h"

namespace meshwork::config {

/// A model that is all right, for tests of other sections; four lines.
inline const std::string kModel = R"(model:
  input: [4]
  layers:
    - Dense: {name: d1, units: 3}
)";

inline Config parse(const std::string& text, const std::vector<std::string>& assignments = {},
                    const std::string& mesh = "") {
  return parse_config(text, "c.yaml", {mesh, assignments});
}

/// What the Error says; "" if there is none. Its exit code must be that of the configuration.
template <class Function>
std::string error_of(Function function) {
  try {
    function();
  } catch (const Error& error) {
    return error.code() == ExitCode::kConfiguration ? error.what() : "wrong exit code";
  }
  return "";
}

inline std::string parse_error(const std::string& text,
                               const std::vector<std::string>& assignments = {},
                               const std::string& mesh = "") {
  return error_of([&] { parse(text, assignments, mesh); });
}

}  // namespace meshwork::config
