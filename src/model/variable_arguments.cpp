#include "model/variable_arguments.h"

namespace meshwork {
namespace {

/// Those whose names end in `kind`.
template <class T>
std::map<std::string, T> read_kind(const config::Value& given, config::Reader& args,
                                   std::string_view kind, T (*read)(const config::Value&)) {
  std::map<std::string, T> result;
  for (const config::Value::Entry& entry : given.map) {
    if (!entry.key.ends_with(kind) || entry.key == kActivityRegularizer) continue;
    const std::string variable = entry.key.substr(0, entry.key.size() - kind.size());
    const config::Value* const value = args.find(entry.key);
    if (value != nullptr) result[variable] = read(*value);
  }
  return result;
}

template <class T>
void check_kind(const config::Reader& args, const std::map<std::string, T>& given,
                std::string_view kind, const std::set<std::string>& used) {
  for (const auto& [variable, what] : given) {
    if (used.contains(fmt::format("{}{}", variable, kind))) continue;
    fail_at(args.at(), "{}: '{}{}': it has no variable '{}'", args.what(), variable, kind,
            variable);
  }
}

}  // namespace

VariableArguments read_variable_arguments(const config::Value& given, config::Reader& args) {
  return {read_kind(given, args, kRegularizer, read_regularizer),
          read_kind(given, args, kConstraint, read_constraint)};
}

void check_used(const config::Reader& args, const VariableArguments& arguments,
                const std::set<std::string>& used) {
  check_kind(args, arguments.regularizers, kRegularizer, used);
  check_kind(args, arguments.constraints, kConstraint, used);
}

}  // namespace meshwork
