#pragma once

#include <optional>
#include <string>
#include <vector>

#include "config/path_pattern.h"
#include "config/rearrangement.h"

// How the tensors in a file of another program become the variables of a model:
//
//     prefix: transformer.                          # names may begin so, or not
//     tensors:                                      # regex over a name -> the path of a variable
//       h.(\d+).ln_1.weight: block_$1/norm1/gamma
//       h.(\d+).attn.c_attn.weight:
//         to: [block_$1/attention/query/kernel, block_$1/attention/key/kernel, ..]
//         rearrange: in (part heads width) -> in heads width
//       h.(\d+).experts.(\d+).up.weight: {to: block_$1/experts/up/kernel, at: $2}
//     leave_out: [h.\d+.attn.bias]                  # tensors that are no weights
//     may_lack: [classifier/.*]                     # variables that fit may begin anew
//     sizes: {model.params.width: $hidden_size}     # keys of the configuration, by its config.json
//     removes: {freeze: $is_trained}                # keys that are removed where this is true
//     needs: [$(hidden_act == 'silu')]              # what config.json must say for that
namespace meshwork::config {

/// What becomes of the tensors whose names match.
struct TensorRule {
  PathPattern pattern;
  std::string key;  ///< as the file writes the pattern
  std::vector<std::string> to =
      {};  ///< one for each part, with the groups of the pattern as $1, $2, ..
  std::optional<Rearrangement> rearrange = {};  ///< none: as it is
  /// The name of a dimension that may be larger in the file: its first rows are read. "" for none.
  std::string crop = {};
  /// Which tensor of the variable's first dimension each is, such as $2; "": it is all of it.
  std::string at_index = {};
  bool optional = false;  ///< left out where the model has no such variable
  Location at = {};
};

struct WeightsMap {
  std::string file;  ///< that it is written in
  std::vector<TensorRule> tensors = {};
  std::vector<TensorRule> leave_out = {};  ///< patterns alone
  std::vector<PathPattern> may_lack = {};  ///< variables that a file need not have
  /// By the path of a key, expressions over the keys of a config.json (weights_sizes.h).
  std::vector<Value::Entry> sizes = {}, removes = {};
  std::vector<Value> needs = {};
};

/// The file that a map is named by: `weights_map: gpt2` is weights/gpt2.yaml beside the
/// configuration `config_file`, or in configs/ of the working directory or of the installation;
/// `weights_map: mine/gpt2.yaml` a path. Throws Error with place where there is none.
std::string weights_map_file(const Value& name, const std::string& config_file);

/// Reads a map: of its file, or its keys stand in place. Throws Error with place.
WeightsMap read_weights_map(const Value& value, const std::string& config_file);

/// The paths that the rule gives a tensor of this name; nothing where it does not match.
std::vector<std::string> paths_for(const TensorRule& rule, const std::string& name);

/// The number along the variable's first dimension that the rule gives a tensor of this name, which
/// matches; -1 if it gives none that is a number.
std::int64_t index_for(const TensorRule& rule, const std::string& name);

}  // namespace meshwork::config
