#include "data/augment/compose.h"

#include <fmt/format.h>

namespace meshwork::data {

ImageFunction part(const ImageOpDef& def, const config::Reader& whole,
                   const std::vector<Argument>& arguments) {
  config::Value map;
  map.kind = config::Value::Kind::kMap;
  map.at = whole.at();
  for (const Argument& argument : arguments) {
    map.insert(argument.key, argument.value.at).value = argument.value;
  }
  config::Reader args(map, fmt::format("{}: {}", whole.what(), def.names[0]));
  ImageFunction function = def.parse(args);
  args.finish();
  return function;
}

}  // namespace meshwork::data
