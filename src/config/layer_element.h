#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/layer_list.h"

namespace meshwork::config {

/// What a model is written out from.
struct ModelText {
  const Blocks& blocks;
  const Parameters& parameters;
  const MeshSpec& mesh;
};

/// One element of a list of layers, parameters replaced, read as far as all layers are alike.
struct LayerElement {
  ClassSpec layer;  ///< without the keys below
  Value name;       ///< null: an automatic one is wanted
  std::vector<LayerOutput> inputs;
  std::vector<std::string> roles;  ///< of `inputs: {query: a, value: b}`; else empty
  bool trainable = true;
  bool rematerialize = false;
  bool left_out = false;  ///< by `if`
  std::vector<LayoutRule> layouts;
  std::int64_t index = 0;      ///< among the repetitions
  std::string base_name = {};  ///< that the first repetition was given

  /// The name that the file gives; a repeated one that stays the same counts on.
  std::string given_name() const;
};

/// Reads the keys that all layers have: name, inputs, if, trainable, rematerialize, layouts. The
/// inputs must be names of the list.
LayerElement read_element(const Value& item, const LayerList& list, const ModelText& text,
                          std::int64_t index);

/// The input or layer of a list that `name` stands for; an Error, "no input or layer 'd2' `where`",
/// if there is none.
const NamedLayer& look_up(const LayerList& list, const std::string& name, const Location& at,
                          std::string_view what, std::string_view where);

/// The output that a word names: "encoder", or another than the first, "encoder/state_h".
LayerOutput look_up_output(const LayerList& list, const std::string& word, const Location& at,
                           std::string_view what, std::string_view where);

/// `use: d1` as `use: {layer: d1}`; anything else as it is.
Value with_arguments(const Value& element);

}  // namespace meshwork::config
