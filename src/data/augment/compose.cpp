#include "data/augment/compose.h"

#include <fmt/format.h>

namespace meshwork::data {

ImageOp part(const ImageOpDef& def, const config::Reader& whole,
             const std::vector<Argument>& arguments) {
  config::Value map;
  map.kind = config::Value::Kind::kMap;
  map.at = whole.at();
  for (const Argument& argument : arguments) {
    map.insert(argument.key, argument.value.at).value = argument.value;
  }
  config::Reader args(map, fmt::format("{}: {}", whole.what(), def.names[0]));
  ImageOp op = make_op(def, args);
  args.finish();
  return op;
}

}  // namespace meshwork::data
