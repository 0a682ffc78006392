#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "config/value.h"

namespace meshwork::config {

/// How the dimensions of a stored tensor become those of a variable, in einops' notation. A
/// dimension may be several in one, the last fastest:
///
///     out in -> in out                                   transposed
///     (heads width) in -> in heads width                 and the rows taken as heads
///     in (part heads width) -> in heads width            one of the parts along the columns
///     rows -> 1 rows                                     with a dimension of extent 1
struct Rearrangement {
  static constexpr std::string_view kOne = "1";

  std::string text;
  std::vector<std::vector<std::string>> stored;  ///< of each dimension the names that it is made of
  std::vector<std::string> variable;             ///< of each dimension its name, or kOne
  std::string part;  ///< the name that is stored alone; "" where there is none
};

/// Reads the notation; `what` names the value in the Errors.
Rearrangement read_rearrangement(const Value& value, const std::string& what);

}  // namespace meshwork::config
