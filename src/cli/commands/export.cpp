#include <cstring>
#include <filesystem>
#include <limits>
#include <optional>

#include "base/byte_size.h"
#include "base/file.h"
#include "base/join.h"
#include "base/nearest.h"
#include "base/terminal.h"
#include "cli/command.h"
#include "interchange/keras_config.h"
#include "interchange/keras_model.h"
#include "interchange/open_weights.h"
#include "state/checkpoint.h"
#include "state/stored_tensors.h"
#include "train/evaluate.h"
#include "train/position.h"
#include "train/run_files.h"

namespace meshwork::cli {
namespace {

constexpr const char* kDetails = R"(Examples:
  meshwork export runs/keras_guide --output guide.weights.h5
      for Keras 3: model.load_weights('guide.weights.h5')
  meshwork export runs/keras_guide/checkpoints/step-24 --output guide.weights.h5
      with the state of the optimizer, for a model that is compiled
  meshwork export runs/keras_guide --output guide.keras
      for Keras 3: model = keras.models.load_model('guide.keras'), layers and all
  meshwork export runs/keras_guide --output guide.npz
      for NumPy: an array for each variable, by its path
  meshwork export theirs.weights.h5 --config configs/keras_guide.yaml --output ours.safetensors
  meshwork export model.safetensors --config configs/gpt2.yaml --output gpt2.weights.h5
      of Hugging Face, by the weights_map of the configuration

--from of fit, evaluate and predict takes all these files, too, also those that Keras writes.)";

struct Arguments {
  std::vector<std::string> words;
  std::string output;
  std::string format;
  std::string config;
  bool weights_only = false;
};

const Format& output_format(const Arguments& arguments) {
  std::vector<std::string> known;
  for (const Format* format : weight_formats()) {
    if (format->write != nullptr) known.emplace_back(format->name);
  }
  const Format* by_suffix = format_by_suffix(arguments.output);
  if (arguments.format.empty()) {
    if (by_suffix != nullptr && by_suffix->write != nullptr) return *by_suffix;
    fail("--output {}: its name does not say the format; give --format {}", arguments.output,
         join(known, "|"));
  }
  const Format* format = find_format(arguments.format);
  if (format == nullptr || format->write == nullptr) {
    fail("--format: no format '{}'{}", arguments.format, suggestion(arguments.format, known));
  }
  // Keras has two, and tells them apart by the suffix.
  const bool is_of_keras = format->naming == Naming::kKeras;
  return is_of_keras && by_suffix != nullptr && by_suffix->naming == Naming::kKeras ? *by_suffix
                                                                                    : *format;
}

/// A file or checkpoint to be read, and what is known of its model.
struct From {
  std::string path;
  std::optional<Checkpoint> checkpoint;
  std::optional<config::Config> config;
};

std::optional<config::Config> config_of(const Arguments& arguments, const From& from) {
  if (!arguments.config.empty()) return config::load_config(arguments.config, {});
  if (from.checkpoint) return meshwork::config_of(*from.checkpoint);
  const std::string beside =
      (std::filesystem::path(from.path).parent_path() / kConfigFile).string();
  if (is_regular_file(beside)) return config::load_config(beside, {});
  return std::nullopt;
}

From open(const Arguments& arguments) {
  From from;
  from.path = weights_file(arguments.words[0]);
  if (is_checkpoint(from.path)) from.checkpoint.emplace(from.path);
  from.config = config_of(arguments, from);
  return from;
}

const config::Config& need_config(const From& from) {
  if (from.config) return *from.config;
  fail("{}: Keras's files name no variables; name the model with --config CONFIG", from.path);
}

/// Tensors under the names that the output gives them.
class Export {
 public:
  void add(const std::string& name, const GlobalTensor& tensor,
           const std::function<void(std::byte*)>& read) {
    what_.tensors.push_back({name, tensor.dtype, tensor.shape});
    reads_.push_back(read);
  }
  template <class T>
  void add_number(const std::string& name, DType dtype, T number) {
    add(name, {name, dtype, {}},
        [number](std::byte* to) { std::memcpy(to, &number, sizeof number); });
  }
  /// `stored` must outlive the export.
  template <class Stored>
  void add_from(const Stored& stored, const std::string& name, const GlobalTensor& tensor) {
    add(name, tensor, [&stored, tensor](std::byte* to) {
      stored.read(tensor, whole_region(tensor.shape), tensor.shape, to);
    });
  }
  void set_names(std::map<std::string, std::string> names) { what_.names = std::move(names); }
  void set_model(std::string model) { what_.model = std::move(model); }

  void write(const Format& format, const std::string& file) {
    what_.read = [this](std::size_t i, std::byte* to) { reads_[i](to); };
    format.write(file, what_);
    std::size_t bytes = 0;
    for (const GlobalTensor& tensor : what_.tensors) bytes += bytes_of(tensor);
    fmt::print("wrote {}: {} tensors, {}\n", file, what_.tensors.size(), show_bytes(bytes));
  }

 private:
  TensorsToWrite what_;
  std::vector<std::function<void(std::byte*)>> reads_;
};

using PlaceOf = std::function<std::string(std::size_t number)>;

/// What a checkpoint has of these variables, in their order, and the placeholders of others.
void add_stored(Export& out, const Checkpoint& checkpoint, const std::vector<std::string>& paths,
                const PlaceOf& place, std::size_t number,
                const std::set<std::string>& placeholders = {}) {
  for (const std::string& path : paths) {
    const StoredTensor* stored = find_stored(checkpoint.index().tensors, path);
    if (stored != nullptr) {
      out.add_from(checkpoint, place(number++), {path, *dtype_of(*stored), stored->shape});
    } else if (placeholders.contains(path)) {
      out.add_number(place(number++), DType::kInt32, std::int32_t{0});
    }
  }
}

/// Keras's variables of an optimizer: its steps, its learning rate unless a schedule gives it, its
/// slots.
void add_optimizer_state(Export& out, const Checkpoint& checkpoint, const KerasModel& model,
                         const PlaceOf& place) {
  const Position position = position_of(checkpoint);
  if (position.iteration > std::numeric_limits<std::int32_t>::max()) {
    fail("{}: {} steps are more than Keras counts; export with --weights-only",
         checkpoint.directory(), position.iteration);
  }
  std::size_t number = 0;
  if (model.counters.empty()) {
    const auto steps = static_cast<std::int32_t>(position.iteration);
    out.add_number(place(number++), DType::kInt32, steps);
  } else {
    add_stored(out, checkpoint, {model.counters.back()}, place, number++);
  }
  if (model.has_learning_rate) {
    const auto rate = static_cast<float>(position.learning_rate);
    out.add_number(place(number++), DType::kFloat32, rate);
  }
  add_stored(out, checkpoint, model.slots, place, number, model.placeholders);
}

/// The same of one that may have a LossScaleOptimizer around it.
void add_state(Export& out, const Checkpoint& checkpoint, const KerasModel& model) {
  if (model.scaled_by.empty()) {
    return add_optimizer_state(out, checkpoint, model, keras_optimizer_place);
  }
  out.add_number(keras_optimizer_place(0), DType::kInt32, std::int32_t{0});
  out.add_number(keras_optimizer_place(1), DType::kFloat32, 0.0F);
  const std::vector<std::string> own{model.counters.begin(), model.counters.end() - 1};
  add_stored(out, checkpoint, own, keras_optimizer_place, kFirstCounter);
  const auto among_all = [](std::size_t number) {
    return keras_optimizer_place(kInnerBegin + number);
  };
  add_optimizer_state(out, checkpoint, model, among_all);
  add_optimizer_state(out, checkpoint, model, keras_inner_optimizer_place);
}

/// Adds the weights, as `stored` has them, and names them for the format.
template <class Stored>
void add_weights(Export& out, const Stored& stored, const std::vector<GlobalTensor>& weights,
                 const Format& format, const std::optional<KerasModel>& model) {
  const Places places = model ? keras_places(*model) : Places{};
  for (const GlobalTensor& weight : weights) {
    out.add_from(stored, format.naming == Naming::kKeras ? places.at(weight.path) : weight.path,
                 weight);
  }
}

bool is_exported(DType dtype) {
  return dtype == DType::kFloat32 || dtype == DType::kInt32 || dtype == DType::kInt64 ||
         dtype == DType::kUInt8;
}

/// All of a file, as it is.
void copy(const From& from, const Format& format, const std::string& output) {
  const Format& source = format_of(from.path);
  if (source.naming == Naming::kKeras || format.naming == Naming::kKeras) need_config(from);
  const std::unique_ptr<TensorFile> file = source.open(from.path);
  Export out;
  for (const StoredTensor& tensor : file->tensors()) {
    const std::optional<DType> dtype = dtype_of(tensor);
    if (!dtype || !is_exported(*dtype)) {
      fail(ExitCode::kFile,
           "{}: '{}' is {}; only {} are exported as they are; --config CONFIG names the model that "
           "weights of other floats are of",
           from.path, tensor.path, describe(tensor), "float32, int32, int64 and uint8");
    }
    out.add(tensor.path, {tensor.path, *dtype, tensor.shape}, [&file, &tensor](std::byte* to) {
      file->read(tensor, whole_region(tensor.shape), tensor.shape, to);
    });
  }
  out.write(format, output);
}

void check_output(const Arguments& arguments, const Format& format) {
  if (arguments.words.size() != 1) {
    fail("export takes a run directory, a checkpoint or a file, not {} arguments",
         arguments.words.size());
  }
  if (format.naming == Naming::kKeras && !arguments.output.ends_with(format.suffixes.front())) {
    fail("--output {}: Keras loads only from a name that ends in {}; name it so", arguments.output,
         format.suffixes.front());
  }
}

ExitCode run(const Arguments& arguments) {
  const Format& format = output_format(arguments);
  check_output(arguments, format);
  const From from = open(arguments);
  create_parent_directory(arguments.output, "; name another with --output");
  if (!from.config) {
    copy(from, format, arguments.output);
    return ExitCode::kOk;
  }
  const Graph graph = predicting_program(*from.config);
  const std::vector<GlobalTensor> weights = model_weights(graph);
  std::optional<KerasModel> model;
  Export out;
  if (format.naming == Naming::kKeras) {
    model =
        format.has_model ? flat_keras_model(*from.config, graph) : keras_model(*from.config, graph);
    if (format.has_model) out.set_model(keras_config(*from.config, graph));
    out.set_names(keras_group_names(*model));
  }
  if (from.checkpoint) {
    from.checkpoint->check_tensors(weights, true);
    add_weights(out, *from.checkpoint, weights, format, model);
    const bool has_optimizer = model && !model->optimizer.empty() && !arguments.weights_only;
    if (has_optimizer) add_state(out, *from.checkpoint, *model);
    out.write(format, arguments.output);
  } else {
    std::vector<std::string> notes;
    const WeightsFile stored = open_weights(*from.config, from.path, weights, false, {}, &notes);
    for (const std::string& note : notes) say("note: " + note);
    add_weights(out, stored, weights, format, model);
    out.write(format, arguments.output);
  }
  return ExitCode::kOk;
}

Run add(Options& options) {
  auto arguments = std::make_shared<Arguments>();
  options.add({"FROM", "a run directory, one of its checkpoints, or a file of weights", "FROM"},
              arguments->words);
  options.add(
      {.name = "--output", .help = "the file to write", .value = "FILE", .is_required = true},
      arguments->output);
  options.add(
      {"--format",
       "keras (.weights.h5 or .keras), npz or safetensors; by default what the name of the file "
       "says",
       "FORMAT"},
      arguments->format);
  options.add({"--config",
               "the configuration of the model; by default that of the run or checkpoint, or "
               "config.yaml beside the file",
               "FILE"},
              arguments->config);
  options.add_flag("--weights-only", "of a checkpoint, leave out the state of the optimizer",
                   arguments->weights_only);
  return [arguments] { return run(*arguments); };
}

}  // namespace

extern const Command kExport{
    .name = "export",
    .usage = "FROM --output FILE [options]",
    .summary = "weights for Keras or NumPy, or as safetensors",
    .details = kDetails,
    .add = add,
};

}  // namespace meshwork::cli
