#pragma once

#include <array>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "config/parameters.h"
#include "config/value.h"

namespace meshwork::config {

/// Keys of any element of a list of layers: no parameter of a block can have such a name.
namespace element_keys {
inline constexpr const char* kIf = "if";
inline constexpr const char* kInputs = "inputs";
inline constexpr const char* kName = "name";
inline constexpr const char* kOutputLayout = "output_layout";
inline constexpr const char* kRematerialize = "rematerialize";
inline constexpr const char* kRepeat = "repeat";
inline constexpr const char* kTrainable = "trainable";
inline constexpr std::array<std::string_view, 7> kAll{
    kIf, kInputs, kName, kOutputLayout, kRematerialize, kRepeat, kTrainable};
}  // namespace element_keys

/// A named group of layers, as the section `blocks` describes it:
///
///   residual:
///     params: {filters: 16, stride: 1}   a map with defaults; without one, a parameter is needed
///     inputs: [x]                        default [input]; names by which the layers take them
///     layers: [..]
///     output: sum                        default: the last layer
struct BlockSpec {
  struct Parameter {
    std::string name;
    Value fallback;  ///< null: must be given
    Location at;
  };
  struct Input {
    std::string name;
    Location at;
  };

  std::string name;
  std::vector<Parameter> params;
  std::vector<Input> inputs;
  Value layers;
  Value output;  ///< null: the last layer
  Location at;
};

using Blocks = std::map<std::string, BlockSpec, std::less<>>;

/// Reads the section; null: there is none. Layers are only looked at where a block is used.
Blocks read_blocks(const Value* blocks);

/// The parameters of a model, `params: {depth: 3}`; each may be written with those before it.
Parameters read_parameters(const Value* params, const std::string& what);

/// The parameters of one use of a block. `args`: what was given, a map; other keys than parameters,
/// and parameters that are missing, are Errors.
Parameters bind_parameters(const BlockSpec& block, const Value& args, const Location& at);

}  // namespace meshwork::config
