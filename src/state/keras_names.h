#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "state/formats/format.h"
#include "state/stored_tensors.h"

// How Keras 3 names what it stores. A model or layer is a group; the layers of a model are the
// groups "layers/<class>", "layers/<class>_1", .. in it, each class counted by itself in the
// order of the layers, whatever they are called. The variables of a layer are the datasets
// "vars/0", "vars/1", ..; those of a layer within it "<its name>/vars/0", ..; those of the
// optimizer "optimizer/vars/0", ..
namespace meshwork {

/// A layer, or a model with layers of its own, as Keras would have it.
struct KerasLayer {
  std::string kind;                    ///< its class: "dense", "sequential", "functional"
  std::string name;                    ///< "d1"
  std::string path;                    ///< ours, with the blocks around it: "stage_2/d1"
  std::vector<std::string> variables;  ///< their paths, in Keras's order
  std::vector<KerasLayer> layers;      ///< in Keras's order
  /// What files call layers within it where not by the names in their variables' paths.
  std::map<std::string, std::string> parts = {};
};

/// A model and the optimizer that trains it.
struct KerasModel {
  KerasLayer model;
  std::string optimizer;           ///< its name, "adam"; "" without one
  bool has_learning_rate = false;  ///< as a variable: no schedule sets it
  std::vector<std::string> slots;  ///< paths of all that it may have, in Keras's order
  std::string scaled_by = {};      ///< the name of the LossScaleOptimizer around it; "": none
  /// Then: paths of the latter's step counter and scale, and of the optimizer's number of steps.
  std::vector<std::string> counters = {};
  /// Of the slots: those in whose place the file has an int32 scalar, 0, where there is no such
  /// slot.
  std::set<std::string> placeholders = {};
};

/// What a model without blocks calls a layer: "stage_2/d1" -> "stage_2_d1".
std::string flat_name(std::string path);

/// Paths of variables, and where a file has them.
using Places = std::map<std::string, std::string>;

/// Where Keras puts the weights.
Places keras_places(const KerasModel& model);

/// Names of all groups, as TensorFile::names().
std::map<std::string, std::string> keras_group_names(const KerasModel& model);

/// Where a file has the weights: by the names of layers where it has a layer for each of ours, with
/// the names of the blocks around it, or for each but some that `may_keep` their values; else by
/// Keras's places. Of these those count less than names that somebody has chosen, not Keras, and
/// that stand in another order. `models` are the same model as it may be put together: the one with
/// the most variables in the file counts. A variable that the file cannot have stands under its
/// path. `note`: which layers take weights of others by their order alone, where that is uncertain.
Places find_keras_places(const std::vector<KerasModel>& models, const TensorFile& file,
                         const std::vector<GlobalTensor>& weights, const MayKeep& may_keep,
                         std::string* note = nullptr);

/// A variable of a layer by the names of its groups: "logits/vars/0" of "layers/dense_1/vars/0".
std::string name_of_place(const TensorFile& file, const std::string& place);

/// Variables of the optimizer: their places by number. Those of a LossScaleOptimizer are its own
/// number of steps and learning rate, which it does not use, its counter and scale, then those of
/// the optimizer in it, which stand at places of their own once more.
std::string keras_optimizer_place(std::size_t number);
std::string keras_inner_optimizer_place(std::size_t number);
constexpr std::size_t kFirstCounter = 2;  ///< where its counter and scale begin
constexpr std::size_t kInnerBegin = 4;    ///< where those of the inner optimizer do
std::size_t count_keras_optimizer_variables(const TensorFile& file);

}  // namespace meshwork
