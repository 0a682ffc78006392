#include "data/check_values.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

#include "base/error.h"

namespace meshwork::data {
namespace {

/// Whether every number of the stored dtype is an int32 as it is.
bool fits_int32(DType dtype) {
  return dtype == DType::kUInt8 || dtype == DType::kInt8 || dtype == DType::kUInt16 ||
         dtype == DType::kInt16 || dtype == DType::kInt32;
}

/// The numbers of the field are below this, and not below 0; 0: any number.
std::int64_t limit_of(const Field& field) {
  const std::int64_t labels = std::max(field.classes, field.label_limit);
  if (field.table_rows == 0) return labels;
  return labels == 0 ? field.table_rows : std::min(labels, field.table_rows);
}

bool needs_check(const Field& field) {
  const Conversion& conversion = field.conversion;
  if (conversion.dtype != DType::kInt32) return false;
  return limit_of(field) > 0 || conversion.scales() || !fits_int32(field.source->info().dtype);
}

[[noreturn]] void fail_not_int32(const Field& field, std::int64_t sample, double raw) {
  const auto& [dtype, scale, offset] = field.conversion;
  const std::string scaled = !field.conversion.scales() ? ""
                                                        : fmt::format(" * {} + {} = {}", scale,
                                                                      offset, raw * scale + offset);
  const SamplePlace place = field.source->place_of(sample);
  fail(ExitCode::kFile, "{}: {} {}: {}{} is not an int32; mend the file{}", place.name, place.what,
       place.sample, raw, scaled,
       field.table_rows > 0 ? fmt::format(": it is the number of a row of {}", field.table)
                            : ", or read the field as dtype float32");
}

/// Whether finite numbers may be infinite as float32; what is normalized is made small before.
bool may_overflow(const Field& field) {
  return field.conversion.dtype == DType::kFloat32 && field.normalization.empty() &&
         field.source->info().dtype == DType::kFloat64;
}

/// Elements of a sample, as it is stored.
std::int64_t elements_of(const Field& field) {
  return std::max<std::int64_t>(1, num_elements(field.stored_shape()));
}

void check_finite(const Field& field, std::int64_t sample, std::int64_t count,
                  const std::byte* stored) {
  const auto& [dtype, scale, offset] = field.conversion;
  for (std::int64_t i = 0; i < count; ++i) {
    double raw = 0;
    std::memcpy(&raw, stored + i * static_cast<std::int64_t>(sizeof raw), sizeof raw);
    if (std::isinf(static_cast<float>(raw * scale + offset)) && std::isfinite(raw)) {
      const SamplePlace place = field.source->place_of(sample + i / elements_of(field));
      fail(ExitCode::kFile,
           "{}: {} {}: {} is infinite in float32; mend the file, or give the field a scale",
           place.name, place.what, place.sample, raw);
    }
  }
}

/// Whether labels, which must be numbers of classes, are read as float32, which holds any number.
bool are_float_labels(const Field& field) {
  return field.conversion.dtype == DType::kFloat32 && field.normalization.empty() &&
         field.label_limit > 0;
}

[[noreturn]] void fail_label(const Field& field, std::int64_t sample, double label) {
  const SamplePlace place = field.source->place_of(sample);
  if (field.table_rows > 0) {
    fail(ExitCode::kFile,
         "{}: {} {}: {} is not in 0..{}, the rows of '{}'; mend the data or the model", place.name,
         place.what, place.sample, label, field.table_rows - 1, field.table);
  }
  if (field.classes == 0 && label == -1) {
    const bool is_token = field.source->info().vocabulary != nullptr || field.mask;
    fail(ExitCode::kFile, "{}: {} {}: a label is -1, {}", place.name, place.what, place.sample,
         is_token ? "which stands for none; give the loss `ignore_class: -1`"
                  : "but classes count from 0: make labels -1 and 1 to 0 and 1 (y: {scale: 0.5, "
                    "offset: 0.5}); if -1 stands for no label, give the loss `ignore_class: -1`");
  }
  if (field.classes == 0 && label != std::floor(label)) {
    fail(ExitCode::kFile,
         "{}: {} {}: label {} is no whole number, but the loss wants the number of a class; mend "
         "the data, or take another loss",
         place.name, place.what, place.sample, label);
  }
  if (field.classes == 0) {
    fail(ExitCode::kFile,
         "{}: {} {}: label {} is not in 0..{}, the classes of the model's output; mend the "
         "data or the model, or set 'labels: unchecked' to train as Keras does",
         place.name, place.what, place.sample, label, field.label_limit - 1);
  }
  fail(ExitCode::kFile, "{}: {} {}: label {} is not in 0..{}; give one_hot the number of classes",
       place.name, place.what, place.sample, label, field.classes - 1);
}

constexpr std::int64_t kChunk = 1024;

void check_float_labels(const Field& field, std::int64_t sample, std::int64_t count,
                        const std::byte* stored) {
  std::array<float, kChunk> values;
  const DType dtype = field.source->info().dtype;
  const auto limit = static_cast<float>(field.label_limit);
  for (std::int64_t done = 0; done < count; done += kChunk) {
    const std::int64_t some = std::min(kChunk, count - done);
    convert_elements(stored + done * static_cast<std::int64_t>(size_of(dtype)), dtype, some,
                     field.conversion, values.data());
    for (std::int64_t i = 0; i < some; ++i) {
      const float label = values[static_cast<std::size_t>(i)];
      const bool is_ignored =
          field.ignored_label && label == static_cast<float>(*field.ignored_label);
      if ((label == std::floor(label) && label >= 0 && label < limit) || is_ignored) continue;
      fail_label(field, sample + (done + i) / elements_of(field), static_cast<double>(label));
    }
  }
}

}  // namespace

void check_values(const Field& field, std::int64_t sample, std::int64_t count,
                  const std::byte* stored) {
  if (may_overflow(field)) check_finite(field, sample, count, stored);
  if (are_float_labels(field)) check_float_labels(field, sample, count, stored);
  if (!needs_check(field)) return;
  std::array<std::int32_t, kChunk> values;
  const DType dtype = field.source->info().dtype;
  const auto size = static_cast<std::int64_t>(size_of(dtype));
  const std::int64_t in_sample = elements_of(field);
  for (std::int64_t done = 0; done < count; done += kChunk) {
    const std::byte* raw = stored + done * size;
    const std::int64_t some = std::min(kChunk, count - done);
    const std::int64_t good = convert_elements(raw, dtype, some, field.conversion, values.data());
    const std::int64_t limit = limit_of(field);
    for (std::int64_t i = 0; limit > 0 && i < good; ++i) {
      const std::int32_t label = values[static_cast<std::size_t>(i)];
      const bool is_class = (label >= 0 && label < limit) || label == field.ignored_label;
      if (!is_class) fail_label(field, sample + (done + i) / in_sample, label);
    }
    if (good == some) continue;
    fail_not_int32(field, sample + (done + good) / in_sample, value_at(raw + good * size, dtype));
  }
}

namespace {

/// Tokens that a mask puts in the place of others.
void check_mask(const Field& field) {
  const std::int64_t count = std::max(field.mask->vocabulary_size, field.mask->mask_token_id + 1);
  if (field.table_rows == 0 || count <= field.table_rows) return;
  fail(ExitCode::kConfiguration,
       "mask_tokens makes tokens up to {} (vocabulary_size {}, mask_token_id {}), but the table "
       "'{}' has {} rows; make it as large",
       count - 1, field.mask->vocabulary_size, field.mask->mask_token_id, field.table,
       field.table_rows);
}

}  // namespace

void check_vocabulary(const Field& field) {
  if (field.mask && !field.mask->is_label) check_mask(field);
  const auto& vocabulary = field.source->info().vocabulary;
  const std::int64_t limit = limit_of(field);
  if (vocabulary == nullptr || limit == 0) return;
  const auto count = static_cast<std::int64_t>(vocabulary->texts.size());
  if (count <= limit) return;
  fail(ExitCode::kFile, "{}: {} different {}s, but {} has {}; make the model as large",
       field.source->info().name, count, vocabulary->unit,
       field.table_rows > 0 ? fmt::format("the table '{}'", field.table) : "the model's output",
       limit);
}

const std::byte* resident_samples(const Split& split, const Field& field) {
  const std::byte* samples = field.source->samples();
  const std::int64_t elements = num_elements(field.stored_shape());
  const auto size = static_cast<std::int64_t>(size_of(field.source->info().dtype));
  check_values(field, split.first, split.samples * elements,
               samples + split.first * elements * size);
  return samples;
}

}  // namespace meshwork::data
