#include "config/sections.h"

namespace meshwork::config {
namespace {

std::int64_t read_count(Reader& reader, std::string_view key, std::int64_t fallback,
                        std::int64_t least) {
  const Value* value = reader.find(key);
  if (value == nullptr) return fallback;
  const std::int64_t number = value->as_integer(key);
  if (number < least) {
    fail_at(value->at, "{} is {}; it must be at least {}", key, number, least);
  }
  return number;
}

std::optional<std::int64_t> read_optional_count(Reader& reader, std::string_view key) {
  if (reader.find(key) == nullptr) return std::nullopt;
  return read_count(reader, key, 1, 1);
}

void read_epochs(Reader& reader, FitSpec& spec) {
  spec.epochs = read_count(reader, "epochs", spec.epochs, 0);
  spec.initial_epoch = read_count(reader, "initial_epoch", spec.initial_epoch, 0);
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
    spec.validation_freq = read_count(reader, "validation_freq", 1, 1);
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
  if (const Value* split = reader.find("validation_split")) {
    spec.validation_split = split->as_real("validation_split");
    if (spec.validation_split < 0.0 || spec.validation_split >= 1.0) {
      fail_at(split->at, "validation_split is {}; it must be at least 0 and less than 1",
              split->scalar);
    }
  }
  spec.validation = reader.get("validation", spec.validation_split > 0.0);
  spec.validation_steps = read_optional_count(reader, "validation_steps");
  spec.validation_batch_size = read_optional_count(reader, "validation_batch_size");
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
    Value key;
    key.kind = Value::Kind::kScalar;
    key.at = entry.at;
    key.scalar = entry.key;
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

}  // namespace

FitSpec read_fit(const Value* fit, const Location& file) {
  FitSpec spec;
  spec.at = file;
  if (fit == nullptr) return spec;
  spec.at = fit->at;
  Reader reader(*fit, "fit");
  spec.batch_size_is_given = reader.find("batch_size") != nullptr;
  spec.batch_size = read_count(reader, "batch_size", spec.batch_size, 1);
  read_epochs(reader, spec);
  spec.steps_per_epoch = read_optional_count(reader, "steps_per_epoch");
  read_validation(reader, spec);
  spec.class_weight = read_class_weight(reader);
  spec.callbacks = read_callbacks(reader);
  spec.shuffle = reader.get("shuffle", spec.shuffle);
  spec.drop_remainder = reader.get("drop_remainder", spec.drop_remainder);
  spec.prefetch = read_count(reader, "prefetch", spec.prefetch, 1);
  constexpr std::int64_t kMostPrefetch = 1024;
  if (spec.prefetch > kMostPrefetch) {
    fail_at(reader.find("prefetch")->at, "prefetch is {} batches; it must be at most {}",
            spec.prefetch, kMostPrefetch);
  }
  spec.log_steps = reader.get("log_steps", spec.log_steps);
  reader.finish();
  return spec;
}

}  // namespace meshwork::config
