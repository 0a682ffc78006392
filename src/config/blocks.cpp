#include "config/blocks.h"

#include <algorithm>

#include "base/nearest.h"
#include "config/config.h"

namespace meshwork::config {
namespace {

void add_parameter(BlockSpec& block, const std::string& name, const Value& fallback,
                   const Location& at) {
  const std::string what = fmt::format("block '{}'", block.name);
  constexpr auto& reserved = element_keys::kAll;
  if (std::find(reserved.begin(), reserved.end(), name) != reserved.end()) {
    fail_at(at, "{}: a parameter cannot be called '{}', a key that every block has; rename it",
            what, name);
  }
  check_parameter_name(name, at, what);
  for (const BlockSpec::Parameter& other : block.params) {
    if (other.name == name) fail_at(at, "{}: parameter '{}' stands twice; remove one", what, name);
  }
  block.params.push_back({name, fallback, at});
}

void read_params(const Value& params, BlockSpec& block) {
  if (params.is_list()) {
    for (const Value& name : params.list) {
      add_parameter(block, name.as_string("a parameter"), {}, name.at);
    }
    return;
  }
  if (!params.is_map()) {
    fail_at(params.at,
            "block '{}': params must be a map of names and defaults, such as {{filters: 16}}, or a "
            "list of names, not {}",
            block.name, describe(params));
  }
  for (const Value::Entry& entry : params.map) {
    add_parameter(block, entry.key, entry.value, entry.at);
  }
}

void read_block_inputs(const Value& inputs, BlockSpec& block) {
  const std::vector<Value> names = inputs.is_list() ? inputs.list : std::vector<Value>{inputs};
  if (names.empty()) {
    fail_at(inputs.at, "block '{}': inputs is empty; name one or more", block.name);
  }
  for (const Value& name : names) {
    block.inputs.push_back({name.as_string("inputs of a block"), name.at});
  }
}

BlockSpec read_block(const Value::Entry& entry) {
  BlockSpec block;
  block.name = entry.key;
  block.at = entry.at;
  const std::string what = fmt::format("block '{}'", block.name);
  if (block.name.empty() || block.name.find_first_of("/$") != std::string::npos) {
    fail_at(entry.at, "a block cannot be called '{}'; give a name without '/' and '$'", block.name);
  }
  if (block.name == "Input" || block.name == "use") {
    fail_at(entry.at, "a block cannot be called '{}', which has a meaning of its own; rename it",
            block.name);
  }
  Reader reader(entry.value, what);
  if (const Value* params = reader.find("params")) read_params(*params, block);
  if (const Value* inputs = reader.find("inputs")) {
    read_block_inputs(*inputs, block);
  } else {
    block.inputs.push_back({"input", entry.at});
  }
  if (const Value* output = reader.find("output")) block.output = *output;
  const Value* layers = reader.find("layers");
  reader.finish();
  block.layers = layers != nullptr ? *layers : reader.require("layers");
  if (!block.layers.is_list()) {
    fail_at(block.layers.at, "{}: layers must be a list, not {}", what, describe(block.layers));
  }
  return block;
}

}  // namespace

Blocks read_blocks(const Value* blocks) {
  Blocks result;
  if (blocks == nullptr) return result;
  if (!blocks->is_map()) {
    fail_at(blocks->at, "blocks must be a map of names and blocks, not {}", describe(*blocks));
  }
  for (const Value::Entry& entry : blocks->map) result.emplace(entry.key, read_block(entry));
  return result;
}

Parameters read_parameters(const Value* params, const std::string& what) {
  Parameters result;
  if (params == nullptr) return result;
  if (!params->is_map()) {
    fail_at(params->at,
            "{}: params must be a map of names and values, such as {{depth: 3}}, not {}", what,
            describe(*params));
  }
  for (const Value::Entry& entry : params->map) {
    check_parameter_name(entry.key, entry.at, what);
    result[entry.key] = substitute(entry.value, result);
  }
  return result;
}

std::string in_blocks(const std::vector<BlockUse>& blocks) {
  std::string text;
  for (const BlockUse& use : blocks) {
    text += fmt::format(" (in block '{}', used at {})", use.block, to_string(use.at));
  }
  return text;
}

Parameters bind_parameters(const BlockSpec& block, const Value& args, const Location& at) {
  std::vector<std::string> known;
  for (const BlockSpec::Parameter& parameter : block.params) known.push_back(parameter.name);
  for (const Value::Entry& given : args.map) {
    if (std::find(known.begin(), known.end(), given.key) != known.end()) continue;
    std::vector<std::string> all = known;
    all.insert(all.end(), element_keys::kAll.begin(), element_keys::kAll.end());
    const bool near = !nearest(given.key, all).empty();
    fail_at(given.at, "block '{}' has no parameter '{}'{}", block.name, given.key,
            suggestion(given.key, near ? all : known));
  }
  Parameters result;
  for (const BlockSpec::Parameter& parameter : block.params) {
    const Value::Entry* given = args.find(parameter.name);
    if (given == nullptr && parameter.fallback.is_null()) {
      fail_at(at, "block '{}' needs the parameter '{}'; give it, or a default at {}", block.name,
              parameter.name, to_string(parameter.at));
    }
    result[parameter.name] =
        given != nullptr ? given->value : substitute(parameter.fallback, result);
  }
  return result;
}

}  // namespace meshwork::config
