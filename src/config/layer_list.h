#pragma once

#include <map>
#include <string>
#include <vector>

#include "config/blocks.h"
#include "config/config.h"
#include "config/names.h"

namespace meshwork::config {

/// What a name in a list of layers stands for.
struct NamedLayer {
  std::string name;  ///< of an input or layer of the model: "stage_2/conv2d"
  Location at;       ///< where the layer stands
  Location name_at;  ///< where its name stands
  /// How it can be used again; of a layer, its place in model.layers. Neither for inputs, and for
  /// what an `if` has left out.
  const BlockSpec* block = nullptr;
  Parameters arguments = {};  ///< of the block
  int layer = -1;
  bool left_out = false;
  bool trainable = true;
  std::string path = {};
  std::string output = {};  ///< which output of `name` it stands for; "": the first

  LayerOutput value() const { return {name, output}; }
};

/// The names in one list of layers, that of the model or of a block, while it is written out.
class LayerList {
 public:
  /// `what` names the list in errors: "model", "block 'residual'".
  explicit LayerList(std::string what) : what_(std::move(what)) {}

  /// Adds an explicit or automatic name; an Error if it is taken, or cannot be part of a path.
  void add(const std::string& local, NamedLayer layer);
  /// An Error unless `local` can be added at these places.
  void check(const std::string& local, const Location& at, const Location& name_at) const;

  const NamedLayer* find(const std::string& local) const;
  std::vector<std::string> known() const { return order_; }

  /// The automatic name of a layer of this class; of one more use of the layer called so.
  std::string next_name(const std::string& class_name) { return auto_names_.next(class_name); }
  std::string next_use(const std::string& local);

  const std::string& what() const { return what_; }

  std::string prefix;       ///< of names: "stage_2/"
  std::string path_prefix;  ///< of paths
  LayerOutput last;         ///< what a layer without `inputs` takes; "" if that is open
  std::size_t inputs = 0;   ///< how many the list begins with
  bool trainable = true;
  Parameters parameters;
  std::vector<BlockUse> blocks;  ///< around it

 private:
  std::string what_;
  std::map<std::string, NamedLayer> layers_;
  std::vector<std::string> order_;
  std::map<std::string, int> uses_;
  AutoNames auto_names_;
};

}  // namespace meshwork::config
