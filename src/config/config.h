#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/dtype.h"
#include "config/value.h"

namespace meshwork::config {

/// A Keras class with its arguments: `Adam`, `adam` or `Adam: {learning_rate: 0.01}`.
struct ClassSpec {
  std::string name;  ///< as written
  Value args;        ///< a map, or null
  Location at;
};

/// Whether two names of a class are the same: Keras looks up optimizers without regard to case.
bool same_class(std::string_view a, std::string_view b);

/// The class of optimizers that mixed_float16 puts around others.
constexpr std::string_view kLossScaleOptimizer = "LossScaleOptimizer";

/// Reads a ClassSpec from a scalar or from a map of one key; `what` names it in errors:
/// "optimizer".
ClassSpec read_class(const Value& value, std::string_view what);

/// Keras's dtype policies: float32 throughout, or layers that compute in floats of 16 bits, with
/// variables, losses, metrics and the optimizer in float32.
enum class Precision { kFloat32, kMixedBFloat16, kMixedFloat16 };

/// Reads "float32", "mixed_bfloat16" or "mixed_float16"; `what` names the value in errors:
/// "precision".
Precision read_precision(const Value& value, std::string_view what);

/// The type in which layers compute.
DType compute_dtype(Precision precision);

/// Keras's name: "mixed_float16".
std::string to_string(Precision precision);

/// What computes: CPUs, NVIDIA GPUs, or with kAuto GPUs where there are any, else CPUs.
enum class DeviceKind { kCpu, kCuda, kAuto };

/// How GPUs exchange tensors: with sums in the one order that all devices keep, or by NCCL, whose
/// order depends on the mesh.
enum class Collectives { kCanonical, kNccl };

/// Ordered as in the file: the last axis varies fastest over the devices.
struct MeshSpec {
  std::vector<std::pair<std::string, std::int64_t>> axes;  ///< one size may be -1
  Location at;
  std::vector<int> devices = {};  ///< of each position, the last axis fastest; {}: 0, 1, 2, ..
};

/// "(data=2, model=4)".
std::string to_string(const MeshSpec& mesh);

enum class Strategy { kDataParallel, kModelParallel };

/// One rule of a layout map. An entry per dimension: the mesh axes that shard it, major first.
struct LayoutRule {
  std::string pattern;
  std::vector<std::vector<std::string>> dims;
  Location at;
};

/// What becomes of a rule whose pattern matches nothing in the model, nor anything that layers
/// would have with other arguments.
enum class UnmatchedRules { kError, kWarn, kIgnore };

/// A block around a layer, and the place where it is used.
struct BlockUse {
  std::string block;
  Location at;
};

/// " (in block 'residual', used at c.yaml:20:7)" for each, the innermost first: how an error about
/// what stands in blocks ends.
std::string in_blocks(const std::vector<BlockUse>& blocks);

/// One of the outputs of an input or layer.
struct LayerOutput {
  std::string layer;        ///< name of the input or layer
  std::string output = {};  ///< which of its outputs, "state_h"; "": the first

  friend bool operator==(const LayerOutput&, const LayerOutput&) = default;
};

/// "encoder", "encoder/state_h"
std::string to_string(const LayerOutput& output);
/// "encoder, encoder/state_h"
std::string to_string(const std::vector<LayerOutput>& outputs);

/// A layer of the model, all blocks written out, in an order in which it can be built.
struct LayerSpec {
  ClassSpec layer;   ///< with an empty name it ends a block, and gives its input on
  std::string name;  ///< unique: "dense_1", in blocks "stage_2/conv2d"
  std::string path;  ///< of its variables and its output; a layer that is used
                     ///< again has the path of its first use, all others their name
  std::vector<LayerOutput> inputs;
  std::vector<std::string> roles;   ///< what the layer calls each of them; empty: by their order
  bool trainable = true;            ///< false if it or a block around it says so
  bool rematerialize = false;       ///< the backward pass computes the layer, or block, again
  std::vector<LayoutRule> layouts;  ///< of `kernel_layout: ..`; the pattern is "kernel"
  std::vector<BlockUse> blocks;     ///< around it, the innermost first
  std::vector<std::string> use_arguments;  ///< of `layer`, those that one more use gives
  Location at;
};

struct InputSpec {
  std::string name;               ///< "input" unless given
  Shape shape;                    ///< without the batch dimension
  DType dtype = DType::kFloat32;  ///< or int32
  Location at;
};

struct OutputSpec {
  std::string name;  ///< as the file calls it, '_' in the place of '/'
  LayerOutput from;
  Location at;
};

/// A regular expression over paths (path_pattern.h).
struct PathRule {
  std::string pattern;
  Location at;
};

struct ModelSpec {
  std::vector<InputSpec> inputs;
  std::vector<LayerSpec> layers;
  std::vector<OutputSpec> outputs;  ///< the last layer unless given
  std::vector<PathRule> freeze;     ///< layers and variables that are not trained
  Location at;
};

/// What one output of the model is trained for and judged by.
struct ObjectiveSpec {
  std::string output;             ///< as in ModelSpec::outputs
  std::optional<ClassSpec> loss;  ///< none: the output is not trained for
  double weight = 1;              ///< of the loss in the sum
  std::vector<ClassSpec> metrics;
  std::vector<ClassSpec> weighted_metrics;  ///< these take class and sample weights into account
  std::string label;  ///< the field of the data; "": the one called as the output, or else `y`
  Location label_at;
  Location at;  ///< of the loss, or of `compile`
};

struct CompileSpec {
  ClassSpec optimizer;
  std::optional<ClassSpec> loss;          ///< of the first output that has one
  std::vector<ObjectiveSpec> objectives;  ///< of every output, in order
  Location at;
};

/// The weight of the samples of each class in the loss; 1 for a class that is not named.
struct ClassWeights {
  std::map<std::int64_t, double> by_class;
  Location at;
};

struct FitSpec {
  std::int64_t batch_size = 32;     ///< global, whatever the mesh
  bool batch_size_is_given = true;  ///< false: the default, which steps_per_epoch may change
  std::int64_t epochs = 1;          ///< number of the last epoch, from 1
  std::int64_t initial_epoch = 0;   ///< epochs that count as done
  bool validation = false;          ///< after every epoch, on the validation (else test) split;
                                    ///< true by default where validation_split takes one off
  double validation_split = 0.0;    ///< fraction taken off the end of the training data
  Location validation_at = {};      ///< of validation_split, else of validation
  std::optional<std::int64_t> steps_per_epoch;
  std::optional<std::int64_t> validation_steps;       ///< at most so many batches
  std::optional<std::int64_t> validation_batch_size;  ///< default: batch_size
  std::int64_t validation_freq = 1;                   ///< validate after every so many epochs,
  std::vector<std::int64_t> validation_epochs;        ///< or after these, from 1, if there are any
  std::optional<ClassWeights> class_weight;
  std::vector<ClassSpec> callbacks;
  bool shuffle = true;
  bool drop_remainder = false;  ///< leave out what fills no batch at the end of a pass
  std::int64_t prefetch = 2;    ///< batches that are read ahead
  bool log_steps = false;       ///< also log every step
  /// Of logs: "csv", "jsonl". Which there are is known to those who write them.
  std::vector<ClassSpec> log_format;
  Location at;
};

/// Which of the compiler's fusions are done: all, unless `fusion:` says otherwise.
struct FusionSpec {
  struct Choice {
    std::string name;
    bool wanted = true;
    Location at;
  };
  bool all = true;              ///< `fusion: false` switches off all
  std::vector<Choice> choices;  ///< `fusion: {elementwise: false}`
};

/// Which forward values the backward pass computes again instead of keeping them, beside layers
/// that say so themselves: the words of Keras's RematScope.
struct RematerializeSpec {
  enum class Mode {
    kNone,
    kFull,          ///< every layer, and every block as a whole
    kActivations,   ///< every activation function
    kLargerThan,    ///< layers whose output has more elements per sample than the threshold
    kListOfLayers,  ///< layers and blocks that a pattern matches
  };
  Mode mode = Mode::kNone;
  std::int64_t output_size_threshold = 1024;
  std::vector<PathRule> layer_names;
};

/// Bytes of one device that programs may take: weights, optimizer state and what a step needs.
struct MemoryLimit {
  std::int64_t bytes = 0;
  Location at;
};

/// The part of the weights' bytes that may be whole on every device.
struct MaxReplicated {
  double part = 1;
  Location at;
};

/// When `fit` writes checkpoints, and which are kept.
struct CheckpointSpec {
  enum class Unit { kEpochs, kSteps, kSeconds };
  bool wanted = true;  ///< `checkpoint: false` switches them off
  double every = 1;
  Unit unit = Unit::kEpochs;
  std::int64_t keep = 2;  ///< of the last ones
  std::string best;       ///< the number of the logs by which the best one is kept, too; "": none
  bool async = true;      ///< written behind the steps that follow
  bool resume = false;    ///< `resume: auto`: go on from the newest one, if there is any
  std::string fallback;   ///< folder for what the run directory does not take; "": $TMPDIR
  Location at;
};

/// `debug:`.
struct DebugSpec {
  bool check_numerics = false;  ///< name the first tensor that is not finite
};

/// A whole configuration file, checked as far as it can be without data and devices.
struct Config {
  std::string file;
  std::string text;  ///< YAML of the whole, overrides included
  std::uint64_t seed = 1337;
  Precision precision = Precision::kFloat32;  ///< of layers that do not say otherwise
  bool tensor_float32 = false;  ///< products and convolutions of float32 may be TensorFloat-32
  DeviceKind device = DeviceKind::kCpu;
  Collectives collectives = Collectives::kCanonical;
  MeshSpec mesh;
  Strategy strategy = Strategy::kDataParallel;  ///< by default model_parallel with a layout_map
  std::vector<std::string> batch_axis;          ///< by default the first axis; none: [] in the file
  std::vector<LayoutRule> layout_map;
  std::vector<LayoutRule> optimizer_layout;  ///< rules for slots, by the path of their weight
  UnmatchedRules unmatched_rules = UnmatchedRules::kError;
  std::optional<MaxReplicated> max_replicated;  ///< more is an Error
  bool keep_gathered = false;                   ///< keep gathered weights for the backward pass
  FusionSpec fusion;
  RematerializeSpec rematerialize;
  std::optional<MemoryLimit> memory_limit;  ///< what is computed again is chosen to meet it
  /// A map: the description of the dataset, its `name` included; null if the file names none. Its
  /// place is in the file of the description, from whose folder relative paths in it start.
  Value dataset;
  Value weights_map;  ///< as read_weights_map() takes it; null if the file names none
  ModelSpec model;
  std::optional<CompileSpec> compile;
  FitSpec fit;
  CheckpointSpec checkpoint;
  DebugSpec debug;
  bool check_labels = true;    ///< labels out of range are errors; false: as in Keras
  double stall_timeout = 120;  ///< seconds without progress that end a job; 0: never
  std::string run_directory;   ///< by default runs/<name of the file>
};

/// What the command line may change: `--mesh`, `--device`, `--sizes-of` and `a.b.c=value`.
struct Overrides {
  std::string mesh;  ///< "4x2" or "data=4,model=2"; "" for none
  std::vector<std::string> assignments;
  std::string device = {};    ///< as in the file; "" for none
  std::string sizes_of = {};  ///< a config.json of Hugging Face, or its folder; "" for none.
                              ///< `assignments` change these sizes, too.
};

/// Reads and checks a file. Throws Error with file:line:column.
Config load_config(const std::string& file, const Overrides& overrides);

/// The same from text; `file` is what the places say and where paths start.
Config parse_config(const std::string& text, const std::string& file, const Overrides& overrides);

}  // namespace meshwork::config
