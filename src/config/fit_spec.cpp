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

}  // namespace

FitSpec read_fit(const Value* fit, const Location& file) {
  FitSpec spec;
  spec.at = file;
  if (fit == nullptr) return spec;
  spec.at = fit->at;
  Reader reader(*fit, "fit");
  spec.batch_size = read_count(reader, "batch_size", spec.batch_size, 1);
  spec.epochs = read_count(reader, "epochs", spec.epochs, 0);
  if (reader.find("steps_per_epoch") != nullptr) {
    spec.steps_per_epoch = read_count(reader, "steps_per_epoch", 1, 1);
  }
  if (const Value* split = reader.find("validation_split")) {
    spec.validation_split = split->as_real("validation_split");
    if (spec.validation_split < 0.0 || spec.validation_split >= 1.0) {
      fail_at(split->at, "validation_split is {}; it must be at least 0 and less than 1",
              split->scalar);
    }
  }
  spec.validation = reader.get("validation", spec.validation_split > 0.0);
  spec.shuffle = reader.get("shuffle", spec.shuffle);
  spec.log_steps = reader.get("log_steps", spec.log_steps);
  reader.finish();
  return spec;
}

}  // namespace meshwork::config
