#include "config/sections.h"

namespace meshwork::config {
namespace {

void read_epochs(Reader& reader, FitSpec& spec) {
  spec.epochs = reader.get("epochs", spec.epochs, at_least(0));
  spec.initial_epoch = reader.get("initial_epoch", spec.initial_epoch, at_least(0));
  if (spec.initial_epoch > spec.epochs) {
    fail_at(reader.find("initial_epoch")->at,
            "initial_epoch is {}, but epochs is {}; epochs is the number of the last epoch, those "
            "before initial_epoch included",
            spec.initial_epoch, spec.epochs);
  }
}

/// `validation_freq: 2` or `validation_freq: [1, 5, 10]`.
void read_validation_freq(Reader& reader, FitSpec& spec) {
  const Value* freq = reader.find("validation_freq");
  if (freq == nullptr) return;
  if (!freq->is_list()) {
    spec.validation_freq = reader.get("validation_freq", 1, at_least(1));
    return;
  }
  for (const Value& epoch : freq->list) {
    spec.validation_epochs.push_back(epoch.as_integer("validation_freq"));
    if (spec.validation_epochs.back() < 1) {
      fail_at(epoch.at, "validation_freq names epoch {}; epochs count from 1",
              spec.validation_epochs.back());
    }
  }
  if (spec.validation_epochs.empty()) {
    fail_at(freq->at, "validation_freq is empty; list epochs, or set validation: false");
  }
}

void read_validation(Reader& reader, FitSpec& spec) {
  spec.validation_split = reader.get("validation_split", 0.0, kFromZeroBelowOne);
  spec.validation = reader.get("validation", spec.validation_split > 0.0);
  const Value* at = reader.find(spec.validation_split > 0.0 ? "validation_split" : "validation");
  if (at != nullptr) spec.validation_at = at->at;
  spec.validation_steps = reader.get_integer("validation_steps", at_least(1));
  spec.validation_batch_size = reader.get_integer("validation_batch_size", at_least(1));
  read_validation_freq(reader, spec);
}

/// `class_weight: {0: 1.0, 3: 2.5}`.
std::optional<ClassWeights> read_class_weight(Reader& reader) {
  const Value* value = reader.find("class_weight");
  if (value == nullptr) return std::nullopt;
  if (!value->is_map()) {
    fail_at(value->at, "class_weight must be a map such as {{0: 1.0, 3: 2.5}}, not {}",
            describe(*value));
  }
  ClassWeights weights{{}, value->at};
  for (const Value::Entry& entry : value->map) {
    const Value key = Value::of_text(entry.key, entry.at);
    const std::int64_t number = key.as_integer("a key of class_weight");
    const double weight = entry.value.as_real("class_weight");
    if (!(weight >= 0)) {
      fail_at(entry.value.at, "class_weight: the weight of class {} is {}; give 0 or more", number,
              weight);
    }
    if (!weights.by_class.emplace(number, weight).second) {
      fail_at(entry.at, "class_weight: class {} stands here twice", number);
    }
  }
  return weights;
}

/// `csv`, or `[csv, jsonl]`.
std::vector<ClassSpec> read_log_format(Reader& reader) {
  const Value* value = reader.find("log_format");
  if (value == nullptr) return {};
  if (!value->is_list()) return {read_class(*value, "log_format")};
  std::vector<ClassSpec> formats;
  for (const Value& format : value->list) formats.push_back(read_class(format, "log_format"));
  return formats;
}

/// `[EarlyStopping: {patience: 2}, TerminateOnNaN]`.
std::vector<ClassSpec> read_callbacks(Reader& reader) {
  std::vector<ClassSpec> callbacks;
  const Value* value = reader.find("callbacks");
  if (value == nullptr) return callbacks;
  if (!value->is_list()) {
    fail_at(value->at, "callbacks must be a list of classes, not {}; begin each line with '- '",
            describe(*value));
  }
  for (const Value& callback : value->list) callbacks.push_back(read_class(callback, "callback"));
  return callbacks;
}

/// What Keras's fit() has, and is said elsewhere here.
void refuse_elsewhere(Reader& reader) {
  const auto refuse = [&](const char* key, const char* remedy) {
    if (const Value* value = reader.find_refused(key)) fail_at(value->at, "fit: {}", remedy);
  };
  refuse("verbose",
         "verbose is an option of the command; leave it out and give --verbose 0, 1 or 2");
  refuse("validation_data",
         "validation_data is a split of the dataset; name it 'validation' there, and set "
         "validation: true");
  for (const char* key : {"workers", "use_multiprocessing", "max_queue_size"}) {
    refuse(key,
           "data are read ahead by threads in any case; leave out workers, "
           "use_multiprocessing and max_queue_size");
  }
}

}  // namespace

FitSpec read_fit(const Value* fit, const Location& file) {
  FitSpec spec;
  spec.at = file;
  if (fit == nullptr) return spec;
  spec.at = fit->at;
  Reader reader(*fit, "fit");
  spec.batch_size_is_given = reader.find("batch_size") != nullptr;
  spec.batch_size = reader.get("batch_size", spec.batch_size, at_least(1));
  read_epochs(reader, spec);
  spec.steps_per_epoch = reader.get_integer("steps_per_epoch", at_least(1));
  read_validation(reader, spec);
  spec.class_weight = read_class_weight(reader);
  spec.callbacks = read_callbacks(reader);
  spec.shuffle = reader.get("shuffle", spec.shuffle);
  spec.drop_remainder = reader.get("drop_remainder", spec.drop_remainder);
  spec.prefetch = reader.get("prefetch", spec.prefetch, at_least(1));
  constexpr std::int64_t kMostPrefetch = 1024;
  if (spec.prefetch > kMostPrefetch) {
    fail_at(reader.find("prefetch")->at, "prefetch is {} batches; it must be at most {}",
            spec.prefetch, kMostPrefetch);
  }
  spec.log_steps = reader.get("log_steps", spec.log_steps);
  spec.log_format = read_log_format(reader);
  refuse_elsewhere(reader);
  reader.finish();
  return spec;
}

}  // namespace meshwork::config
