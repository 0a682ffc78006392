#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/nearest.h"
#include "config/config.h"

namespace meshwork::config {

/// The entry of a registry that `spec` names; each entry has its spellings in `names`. An Error
/// with the nearest spellings where there is none.
template <class Def>
const Def& look_up(const std::vector<const Def*>& registry, const ClassSpec& spec,
                   std::string_view what) {
  std::vector<std::string> known;
  for (const Def* def : registry) {
    for (const std::string_view name : def->names) {
      if (name == spec.name) return *def;
      known.emplace_back(name);
    }
  }
  fail_at(spec.at, "there is no {} '{}'{}", what, spec.name, suggestion(spec.name, known));
}

/// What the entry of a registry that `spec` names reads from the arguments. It must know all.
template <class Def>
auto read_named(const std::vector<const Def*>& registry, const ClassSpec& spec,
                std::string_view what) {
  const Def& def = look_up(registry, spec, what);
  Reader args(spec.args, fmt::format("{} {}", what, spec.name));
  auto result = def.read(args);
  args.finish();
  return result;
}

}  // namespace meshwork::config
