#pragma once

#include <functional>
#include <string_view>

#include "model/layers/layer.h"

namespace meshwork::layers {

/// What a layer takes, and its mask (Scope::mask()).
struct Masked {
  ValueId value = kNoValue;
  ValueId mask = kNoValue;
};

/// The facts of a layer with these inputs, in the place of those that `given` leaves open: the
/// dtype of its variables, and the masks.
LayerFacts facts_of(const LayerDef& def, std::span<const Masked> inputs, LayerFacts given);

using BuildLayer =
    std::function<ValueId(Scope& scope, config::Reader& args, std::span<const ValueId> inputs)>;

/// The output of the layer that the scope has entered, made by `build`: of inputs in the dtype in
/// which it takes them, in the one in which it gives it. An Error for an argument that `build` does
/// not read.
ValueId build_entered(Scope& scope, const LayerDef& def, config::Reader& args,
                      std::span<const Masked> inputs, const BuildLayer& build);

/// Arguments for a part, written where those of the layer around it are.
class PartArguments {
 public:
  explicit PartArguments(const config::Reader& around);

  PartArguments& set(std::string_view key, const char* word);
  PartArguments& set(std::string_view key, std::int64_t number);
  PartArguments& set(std::string_view key, double number);
  PartArguments& set(std::string_view key, bool yes);
  /// As the file gives it; nothing where it is nullptr.
  PartArguments& set(std::string_view key, const config::Value* given);

  const config::Value& map() const { return map_; }
  const std::string& what() const { return what_; }

 private:
  config::Value map_;
  std::string what_;
};

/// The output of a layer within the one that is being built: in the dtype of that, with variables
/// `<path>/<name>/..`.
ValueId build_part(Scope& scope, std::string_view name, const LayerDef& def,
                   const PartArguments& arguments, std::span<const Masked> inputs);

}  // namespace meshwork::layers
