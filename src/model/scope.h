#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "config/value.h"
#include "graph/builder.h"
#include "model/initializers/initializer.h"
#include "model/variable_arguments.h"

namespace meshwork {

/// The layer that is being built.
struct LayerFacts {
  config::Location at = {};
  bool trainable = true;
  DType dtype = DType::kFloat32;           ///< in which it gives its output
  DType variable_dtype = DType::kFloat32;  ///< in which it is given its variables
  int use = 0;  ///< how often it has been used before: more than 0 for a shared layer
  std::vector<ValueId> masks = {};  ///< of its inputs, see Scope::mask()
  VariableArguments variables = {};
};

/// A model that is given a part of each sequence after the other, [batch, tokens], instead of
/// whole ones: what it was given before is kept in caches.
struct Decoding {
  ValueId start = kNoValue;   ///< int32 [batch]: the place of the part's first token
  ValueId places = kNoValue;  ///< float32 [batch, tokens]: of each token
  std::int64_t tokens = 1;    ///< of a part
  std::int64_t context = 1;   ///< places that a sequence has at most
};

/// The nodes from `first` up to `result`, [batch, tokens, ..]: each token of this depends on those
/// up to it alone, as those before it are remembered.
struct Recurrence {
  ValueId first = kNoValue;
  ValueId result = kNoValue;
};

/// What a layer needs to build itself: the builder, which carries the layer's path, and the facts
/// of the run.
class Scope {
 public:
  Scope(GraphBuilder& builder, std::uint64_t seed, bool training)
      : builder_(builder), seed_(seed), training_(training) {}

  GraphBuilder& builder() { return builder_; }
  const Graph& graph() const { return builder_.graph(); }
  std::uint64_t seed() const { return seed_; }
  bool training() const { return training_; }

  /// Whether the layer is trained: false where it, a block around it or a rule of `freeze` says
  /// so. Such a layer behaves as in inference where Keras's does (BatchNormalization).
  bool trainable() const { return layer_.trainable; }
  void enter_layer(LayerFacts layer) {
    layer_ = std::move(layer);
    used_.clear();
    output_mask_.reset();
    output_dtype_.reset();
    further_outputs_.clear();
  }

  /// Of the layer's regularizers and constraints, those for whose variables it has asked:
  /// "kernel_regularizer".
  const std::set<std::string>& used() const { return used_; }
  /// Adds what the regularizer gives for an output of the layer, divided by the batch, to the loss.
  void penalize(ValueId output, const Regularizer& regularizer);
  /// Adds a number of the layer, [] of float32, to the loss (Keras's add_loss).
  void add_loss(ValueId number) { losses_.push_back(number); }
  /// What layers and regularizers add to the loss: these of each output, and of each trained
  /// variable once.
  std::vector<ValueId> add_penalties();

  /// The mask of an input of the layer: float32, for its first dimensions, 1 where a position
  /// counts and 0 where it is padding. kNoValue: all count.
  ValueId mask(std::size_t input) const { return layer_.masks.at(input); }
  const LayerFacts& layer() const { return layer_; }
  /// Gives the output of the layer a mask of its own; kNoValue: none, for all that it has counts.
  void set_mask(ValueId mask) { output_mask_ = mask; }
  const std::optional<ValueId>& output_mask() const { return output_mask_; }

  /// What the layer gives beside its output, in Keras's order: `<path>/<name>`, without a mask.
  /// kNoValue: it has none, for `why` leaves it out, "return_state: false".
  void add_output(const std::string& name, ValueId value, const std::string& why);
  const std::vector<NamedValue>& further_outputs() const { return further_outputs_; }

  /// The dtype in which the layer gives its output: its own, unless set.
  DType output_dtype() const { return output_dtype_.value_or(layer_.dtype); }
  void set_output_dtype(DType dtype) { output_dtype_ = dtype; }

  /// Variables, by their paths, that are not trained though their layer is.
  void set_frozen(std::function<bool(const std::string& path)> frozen) {
    frozen_ = std::move(frozen);
  }

  /// A new float32 variable `<path>/<name>` (in a part `<path>/<part>/<name>`), trained if the
  /// layer is, in the dtype in which the layer takes its variables: a layer that computes in
  /// floats of 16 bits sees all of them rounded. Its initial value is an op of its own and no part
  /// of the program. Throws Error if the initializer is not for such a shape. A layer that is built
  /// once more under its path (a shared one) gets its variable again.
  ValueId variable(const std::string& name, const Shape& shape, const Initializer& initializer);

  /// variable() that is not trained, whatever the layer says.
  ValueId frozen_variable(const std::string& name, const Shape& shape,
                          const Initializer& initializer);

  /// variable() where `present`; else kNoValue, and the path is among absent(): `why` is the
  /// argument that leaves it out, "use_bias: false". For every variable that a layer has not
  /// always.
  ValueId optional_variable(bool present, const std::string& why, const std::string& name,
                            const Shape& shape, const Initializer& initializer);

  /// Paths of the variables and further outputs that layers would have under other arguments, and
  /// what leaves them out.
  const std::map<std::string, std::string>& absent() const { return absent_; }
  /// Whether `path` is that of a variable, be it one that is absent().
  bool is_variable(const std::string& path) const {
    return variables_.contains(path) || (absent_.contains(path) && !absent_outputs_.contains(path));
  }

  /// variable() for state that the optimizer leaves alone, such as moving_mean, always float32.
  /// Where a shared layer has updated it before in this step, this is the updated value, as in
  /// Keras.
  ValueId non_trainable(const std::string& name, const Shape& shape,
                        const Initializer& initializer);

  /// State that nothing computes with, as Keras keeps it: an int32, 0 from the beginning.
  void keep_count(const std::string& name);

  /// Lets training begin with a statistic of its data in the variable.
  void begin_as(ValueId variable, DataStatistic statistic);

  /// Set where the model is given parts of sequences. Layers whose results at a position depend on
  /// where it is, or on other positions, look at it.
  const std::optional<Decoding>& decoding() const { return decoding_; }
  void set_decoding(const Decoding& decoding) { decoding_ = decoding; }

  /// rows [batch, tokens, ..] of a part behind those of all parts before: [batch, context, ..],
  /// kept under the name until the next part.
  ValueId cache(const std::string& name, ValueId rows);
  /// Of what cache() keeps under the name: the row before the part, 0 where the part is the first;
  /// `row`: its type, [batch, ..]. To be asked for before cache().
  ValueId last_row(const std::string& name, const TensorType& row);
  /// What layers have that go through a part of a sequence token by token.
  void add_recurrence(const Recurrence& recurrence) { recurrences_.push_back(recurrence); }
  const std::vector<Recurrence>& recurrences() const { return recurrences_; }
  /// Says that the layer has such a cache when the model decodes, so that layouts may name it.
  void mention_cache(const std::string& name);

  /// x in another dtype; each value is cast once.
  ValueId cast(ValueId x, DType dtype);

  /// While training: at the end of the step `state`, which non_trainable() gave, takes `value`.
  /// In evaluation and prediction nothing happens. Types must be the same.
  void update(ValueId state, ValueId value);

  /// The key of the layer's stream of random numbers, for random_uniform and its kin; each use of a
  /// shared layer has its own. `seed`, the layer's own argument, takes the place of the run's.
  std::int64_t random_key(std::optional<std::int64_t> seed = std::nullopt) const;

  /// The number of the step, from 0: the input "iteration", int64.
  ValueId iteration();

 private:
  friend class PartScope;

  /// What a variable, or an output, adds to the loss.
  struct Penalty {
    ValueId value = kNoValue;
    Regularizer of;
    std::string path;
  };

  std::string path_of(const std::string& name) const;
  /// The variable of a cache with such rows, [batch, tokens, ..], made where there is none yet.
  ValueId cache_variable(const std::string& name, const TensorType& rows);
  /// Of `given`, the layer's regularizers or constraints, that of a variable; nullptr: none. `kind`
  /// ends their names: "_regularizer".
  template <class T>
  const T* given_for(const std::string& variable, const std::map<std::string, T>& given,
                     std::string_view kind);
  /// While training: a new value of the variable goes through the constraint.
  void constrain(ValueId variable, const Constraint& constraint);
  ValueId make(const std::string& name, const Shape& shape, const Initializer& initializer,
               bool trainable);

  GraphBuilder& builder_;
  std::uint64_t seed_;
  bool training_;
  LayerFacts layer_;
  std::string part_;  ///< "self_attention/", "" outside of parts
  std::optional<Decoding> decoding_;
  std::vector<Recurrence> recurrences_;
  std::optional<ValueId> output_mask_;
  std::optional<DType> output_dtype_;
  std::vector<NamedValue> further_outputs_;
  std::map<std::pair<ValueId, DType>, ValueId> casts_;
  std::map<std::string, ValueId> variables_;  ///< by path
  std::map<std::string, std::string> absent_;
  std::set<std::string> absent_outputs_;  ///< of these
  std::set<std::string> used_;
  std::vector<ValueId> losses_;
  std::vector<Penalty> output_penalties_;
  std::map<std::string, Penalty> penalties_;  ///< by path
  std::function<bool(const std::string& path)> frozen_;
};

/// While it lives, what is built is a layer within the one that is being built: its variables and
/// its random numbers have the name of the part before theirs.
class PartScope {
 public:
  PartScope(Scope& scope, std::string_view name, LayerFacts layer);
  ~PartScope();
  PartScope(const PartScope&) = delete;
  PartScope& operator=(const PartScope&) = delete;

 private:
  Scope& scope_;
  std::string part_;
  LayerFacts layer_;
  std::optional<ValueId> output_mask_;
  std::optional<DType> output_dtype_;
  std::vector<NamedValue> further_outputs_;
};

}  // namespace meshwork
