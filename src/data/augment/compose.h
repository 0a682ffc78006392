#pragma once

#include <string_view>
#include <vector>

#include "data/augment/augment.h"

namespace meshwork::data {

struct Argument {
  std::string_view key;
  config::Value value;
};

/// An operation that is a part of another one, with arguments that come from those of that one.
ImageOp part(const ImageOpDef& def, const config::Reader& whole,
             const std::vector<Argument>& arguments);

}  // namespace meshwork::data
