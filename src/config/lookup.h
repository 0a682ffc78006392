#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/nearest.h"
#include "config/config.h"

namespace meshwork::config {

/// The entry of a registry that has `name` among its spellings, `names`; nullptr if there is none.
template <class Def>
const Def* find_named(const std::vector<const Def*>& registry, std::string_view name) {
  for (const Def* def : registry) {
    for (const std::string_view spelling : def->names) {
      if (spelling == name) return def;
    }
  }
  return nullptr;
}

/// The entry that `spec` names. An Error with the nearest spellings where there is none.
template <class Def>
const Def& look_up(const std::vector<const Def*>& registry, const ClassSpec& spec,
                   std::string_view what) {
  if (const Def* const def = find_named(registry, spec.name)) return *def;
  std::vector<std::string> known;
  for (const Def* def : registry) known.insert(known.end(), def->names.begin(), def->names.end());
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
