#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "config/config.h"

// The readers of the sections of a configuration file; load_config calls them in turn. A section
// that may be left out comes as a pointer that may be null.
namespace meshwork::config {

/// The file, whose values have `whole` for a place, as the command line changes it. Carries out
/// every `a.b.c=value`:
/// - the value is YAML; `null` removes the key, but for parameters of the model, which become null;
/// - elements of lists go by number, layers also by name (`model.layers.d1.units=300`), callbacks
///   by class (`fit.callbacks.EarlyStopping.patience=3`);
/// - what follows a layer, optimizer, loss, metric or callback addresses its arguments, unless it
///   is the name of a class (`compile.optimizer.SGD.momentum=0.9` also replaces an Adam);
/// - keys with dots need quotes (`layout_map."d.*/kernel"=[null, model]`), if they do not exist
///   already;
/// - keys that are absent are made; whether they mean anything is left to the readers.
/// Every place of the new value is "command line: 'a.b.c=value'".
void apply_overrides(Value& root, const Location& whole, const Overrides& overrides);

/// The mesh of the file, changed by `--mesh`: "4x2" gives new sizes to the axes in order,
/// "data=4,model=2" replaces them. Without either: one axis `data` over all devices.
MeshSpec read_mesh(const Value* mesh, const std::string& command_line);

/// An axis, or a list of axes, of the mesh, each once.
std::vector<std::string> read_axes(const Value& value, const MeshSpec& mesh, std::string_view what);

/// layout_map and optimizer_layout. Axes are checked against the mesh, patterns are not.
std::vector<LayoutRule> read_layout_rules(const Value* rules, const MeshSpec& mesh,
                                          std::string_view what);

/// One layout, such as [null, model], as a rule of `pattern`, written at `at`; `what` names it in
/// errors.
LayoutRule read_layout(const Value& layout, const std::string& pattern, const Location& at,
                       const MeshSpec& mesh, const std::string& what);

/// `full`, `activations`, true (full), or a map: {mode: larger_than, output_size_threshold: 4096},
/// {mode: list_of_layers, layer_names: ['stage_1/.*']}.
RematerializeSpec read_rematerialize(const Value* value);

/// A number of bytes with a unit, `2 GiB`, or without one.
std::optional<MemoryLimit> read_memory_limit(const Value* value);

/// Regular expressions over paths: one, or a list; `what` names them in errors.
std::vector<PathRule> read_path_rules(const Value* patterns, std::string_view what);

/// The model, with all blocks written out.
ModelSpec read_model(const Value& model, const Value* blocks, const MeshSpec& mesh);

/// `loss`, `metrics`, `loss_weights` and `labels` may be given for all outputs of the model: as
/// maps by the names of the outputs, or as lists in their order. One loss alone is that of every
/// output.
CompileSpec read_compile(const Value& compile, const ModelSpec& model, Precision precision);
FitSpec read_fit(const Value* fit, const Location& file);

/// `checkpoint: false`, or a map: {every: 1 epoch, keep: 2, best: val_accuracy, async: true}.
/// `resume`: auto or never.
CheckpointSpec read_checkpoint(const Value* checkpoint, const Value* resume, const Location& file);

/// A time such as `2 min`, in seconds; `never` is 0.
double read_stall_timeout(const Value& value);

/// The description of a dataset, which may be written in place or be a file of its own:
///   dataset: fashion_mnist                     datasets/fashion_mnist.yaml
///   dataset: ../data/mine.yaml                 a path, from the folder of the configuration
///   dataset: {name: fashion_mnist, take: 100}  the file, with some keys replaced
///   dataset: {name: mine, format: csv, ...}    has a format, so nothing is looked for
/// Names are looked for in datasets/ beside the configuration `file`, beside its folder, in the
/// working directory and where Meshwork is installed. The result is as in Config.
Value read_dataset(const Value& dataset, const std::string& file);

}  // namespace meshwork::config
