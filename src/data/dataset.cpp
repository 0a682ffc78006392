#include "data/dataset.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/check.h"
#include "base/error.h"
#include "base/join.h"
#include "base/names.h"
#include "base/nearest.h"
#include "data/cut_timeseries.h"
#include "data/find_file.h"
#include "data/image_masks.h"

namespace meshwork::data {
namespace {

/// Whole numbers stay whole for the target y, of tokens, of masks and where their source says so;
/// everything else is float32.
DType default_dtype(const FieldSpec& spec, const SourceInfo& info) {
  const bool is_label =
      (spec.name == names::kLabels || info.vocabulary != nullptr || info.stays_whole) &&
      spec.one_hot == 0 && !is_floating(info.dtype);
  const bool is_raw = spec.scale == 1.0 && spec.offset == 0.0 && spec.mean.empty();
  const bool is_of_pixels = spec.is_mask() && spec.one_hot == 0 && !is_floating(info.dtype) &&
                            spec.scale == std::floor(spec.scale) &&
                            spec.offset == std::floor(spec.offset);
  const bool stays_label = is_label && is_raw && spec.augment.empty();
  return is_of_pixels || stays_label ? DType::kInt32 : DType::kFloat32;
}

/// The shape of the description, or that of the file.
Shape sample_shape(const FieldSpec& spec, const SourceInfo& info) {
  const Shape stored(info.shape.begin() + 1, info.shape.end());
  if (!spec.shape || num_elements(stored) == 0) return stored;  // emptiness is told later
  checked_elements(fmt::format("{}: field '{}'", config::to_string(spec.at), spec.name),
                   *spec.shape, sizeof(float));
  if (num_elements(*spec.shape) == num_elements(stored)) return *spec.shape;
  config::fail_at(spec.at, "field '{}': shape {} has {} numbers, but samples of {} have {}: {}",
                  spec.name, to_string(*spec.shape), num_elements(*spec.shape), info.name,
                  num_elements(stored), to_string(stored));
}

Normalization make_normalization(const FieldSpec& spec, const Shape& shape) {
  const std::size_t count = spec.mean.size();
  if (count > 1 && (shape.empty() || shape.back() != static_cast<std::int64_t>(count))) {
    config::fail_at(
        spec.at,
        "field '{}': mean and std have {} numbers, but samples of shape {} have {}; "
        "give one for each, or one for all",
        spec.name, count, to_string(shape),
        shape.empty() ? std::string("no channels") : fmt::format("{} channels", shape.back()));
  }
  return {spec.mean, spec.std};
}

void check_augment(const FieldSpec& spec, const Shape& shape) {
  if (spec.augment.empty()) return;
  if (shape.size() != 2 && shape.size() != 3) {
    config::fail_at(spec.at,
                    "field '{}': augment is for images [height, width] or [height, width, "
                    "channels], but samples have shape {}",
                    spec.name, to_string(shape));
  }
  const std::int64_t channels = shape.size() == 3 ? shape[2] : 1;
  for (const ImageOp& op : spec.augment) {
    if (op.channels == 0 || op.channels == channels) continue;
    config::fail_at(spec.at,
                    "field '{}': {} is for images of {} channels, but samples have shape {}; leave "
                    "it out",
                    spec.name, op.name, op.channels, to_string(shape));
  }
}

/// Of windows of tokens that stay numbers.
std::optional<TokenMask> make_mask(const FieldSpec& spec, const SourceInfo& info, DType dtype,
                                   std::uint64_t seed) {
  if (!spec.mask) return std::nullopt;
  if (info.vocabulary == nullptr || dtype != DType::kInt32) {
    config::fail_at(spec.at,
                    "field '{}': mask_tokens needs tokens as whole numbers: format text or tokens, "
                    "and no dtype, scale, mean or one_hot",
                    spec.name);
  }
  const auto different = static_cast<std::int64_t>(info.vocabulary->texts.size());
  if (different > spec.mask->vocabulary_size) {
    config::fail_at(spec.at, "mask_tokens: vocabulary_size is {}, but {} has {} different {}s",
                    spec.mask->vocabulary_size, info.name, different, info.vocabulary->unit);
  }
  TokenMask mask = *spec.mask;
  mask.seed = seed;
  return mask;
}

Field make_field(const FieldSpec& spec, std::unique_ptr<Source> source, std::uint64_t seed) {
  const DType dtype = spec.dtype.value_or(default_dtype(spec, source->info()));
  Field field{.name = spec.name,
              .dtype = dtype,
              .shape = sample_shape(spec, source->info()),
              .source = nullptr,
              .conversion = {dtype, spec.scale, spec.offset},
              .mask = make_mask(spec, source->info(), dtype, seed),
              .classes = spec.one_hot};
  if (spec.one_hot > 0) {
    field.conversion.dtype = DType::kInt32;
    field.shape.push_back(spec.one_hot);
    Shape all = source->info().shape;
    all.push_back(spec.one_hot);
    checked_elements(source->info().name, all, sizeof(float));
  }
  field.normalization = make_normalization(spec, field.shape);
  check_augment(spec, field.stored_shape());
  field.augment = spec.augment;
  if (spec.is_mask()) {
    field.mask_of = spec.mask_of->field;
    field.fill_value = spec.mask_of->fill_value;
    check_fill_value(field);
  }
  field.source = std::move(source);
  return field;
}

/// Where samples and labels are both read.
void add_mixer(const MixSpec& mix, std::uint64_t seed, Split& split) {
  const auto samples = std::ranges::find(split.fields, names::kFeatures, &Field::name);
  const auto labels = std::ranges::find(split.fields, names::kLabels, &Field::name);
  if (samples == split.fields.end() || labels == split.fields.end()) return;
  for (const MixOp& op : mix.ops) {
    const std::size_t rank = samples->shape.size();
    if (!op.needs_image || rank == 2 || rank == 3) continue;
    config::fail_at(mix.at, "mix: {} is for images, but samples have shape {}", op.name,
                    to_string(samples->shape));
  }
  samples->mixer = labels->mixer = std::make_shared<const Mixer>(mix.ops, samples->shape, seed);
}

std::int64_t source_samples(const Field& field) { return field.source->info().shape[0]; }

/// As many files of both hold the same samples, so that file by file there are as many.
void check_files(const Field& field, const Field& other) {
  const auto files = field.source->files(), others = other.source->files();
  if (files.size() != others.size()) return;
  for (std::size_t i = 1; i < files.size(); ++i) {
    if (files[i].sample == others[i].sample) continue;
    const std::int64_t begin = files[i - 1].sample;
    fail(ExitCode::kFile,
         "{}: {} samples of '{}', but {} has {} of '{}'; list the files of both in one order",
         files[i - 1].name, files[i].sample - begin, field.name, others[i - 1].name,
         others[i].sample - begin, other.name);
  }
}

void check_counts(const Split& split) {
  const Field& first = split.fields.front();
  for (const Field& field : split.fields) {
    if (source_samples(field) != source_samples(first)) {
      fail(ExitCode::kFile,
           "{}: {} samples of '{}', but {} has {} of '{}'; the files do not belong together",
           first.source->info().name, source_samples(first), first.name, field.source->info().name,
           source_samples(field), field.name);
    }
    check_files(first, field);
    if (source_samples(field) == 0 || num_elements(field.shape) == 0) {
      fail(ExitCode::kFile, "{}: shape {} holds no numbers", field.source->info().name,
           to_string(field.source->info().shape));
    }
  }
}

/// Splits of one dataset must look alike to a model.
void check_alike(const Split& split, const Split& other) {
  for (const Field& mine : split.fields) {
    const Field* const found = other.find(mine.name);
    if (found == nullptr) continue;
    const Field& theirs = *found;
    if (mine.shape == theirs.shape && mine.dtype == theirs.dtype) continue;
    fail(ExitCode::kFile, "{}: '{}' of split '{}' is {} {}, that of '{}' is {} {} ({})",
         mine.source->info().name, mine.name, split.name, to_string(mine.dtype),
         to_string(mine.shape), other.name, to_string(theirs.dtype), to_string(theirs.shape),
         theirs.source->info().name);
  }
}

/// "windows of 64 characters, 65 different", "texts of 256 tokens, 30522 different" where there is
/// nothing beside them, or "samples".
std::string describe_samples(const Split& split) {
  const Source& source = *split.fields.front().source;
  const SourceInfo& info = source.info();
  const bool are_windows = source.holder().info().shape.size() == 1;  // of a row of tokens
  if (info.vocabulary == nullptr || !(are_windows || split.fields.size() == 1)) return "samples";
  const std::size_t different = info.vocabulary->texts.size();
  return fmt::format("{} of {} {}s{}", are_windows ? "windows" : "texts", info.shape.back(),
                     info.vocabulary->unit,
                     different == 0 ? "" : fmt::format(", {} different", different));
}

}  // namespace

Shape Field::stored_shape() const { return {shape.begin(), shape.end() - (classes > 0 ? 1 : 0)}; }

Arrival arrival_of(const Field& field, bool augment) {
  if (augment && (!field.augment.empty() || field.mixer != nullptr)) return Arrival::kAugmented;
  const bool has_numbers =
      field.source->info().shape[0] <= std::numeric_limits<std::int32_t>::max();
  return field.source->is_resident() && has_numbers ? Arrival::kRows : Arrival::kStored;
}

const Field* Split::find(std::string_view field) const {
  const auto found = std::find_if(fields.begin(), fields.end(),
                                  [&](const Field& known) { return known.name == field; });
  return found == fields.end() ? nullptr : &*found;
}

Dataset::Dataset(const config::Value& description, std::uint64_t seed)
    : spec_(read_description(description)), seed_(seed) {}

std::vector<std::string> Dataset::split_names() const {
  std::vector<std::string> names;
  for (const SplitSpec& split : spec_.splits) names.push_back(split.name);
  return names;
}

bool Dataset::has(std::string_view split) const {
  return std::any_of(spec_.splits.begin(), spec_.splits.end(),
                     [&](const SplitSpec& known) { return known.name == split; });
}

std::vector<std::string> Dataset::field_names() const {
  std::vector<std::string> names;
  for (const FieldSpec& field : spec_.fields) names.push_back(field.name);
  return names;
}

void Dataset::keep_fields(const std::vector<std::string>& names) {
  MW_CHECK(open_.empty());
  const std::vector<FieldSpec> all = std::move(spec_.fields);
  spec_.fields.clear();
  std::vector<std::vector<Opener>> openers(spec_.splits.size());
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (std::find(names.begin(), names.end(), all[i].name) == names.end()) continue;
    spec_.fields.push_back(all[i]);
    for (std::size_t s = 0; s < openers.size(); ++s) {
      openers[s].push_back(spec_.splits[s].openers[i]);
    }
  }
  for (std::size_t s = 0; s < openers.size(); ++s) spec_.splits[s].openers = std::move(openers[s]);
}

const SplitSpec& Dataset::spec_of(std::string_view name) const {
  const auto spec = std::find_if(spec_.splits.begin(), spec_.splits.end(),
                                 [&](const SplitSpec& known) { return known.name == name; });
  if (spec != spec_.splits.end()) return *spec;
  config::fail_at(spec_.at, "dataset{} has no split '{}'; it has {}",
                  spec_.name.empty() ? "" : " '" + spec_.name + "'", name,
                  join(split_names(), ", "));
}

const Split& Dataset::split(std::string_view name) const {
  const std::lock_guard lock(mutex_);
  if (const auto known = open_.find(name); known != open_.end()) return known->second;
  Split split = open(spec_of(name));
  for (const auto& [other_name, other] : open_) check_alike(split, other);
  return open_.emplace(split.name, std::move(split)).first->second;
}

Split Dataset::rows(std::string_view name) const {
  if (!spec_.timeseries) return split(name);
  const std::lock_guard lock(mutex_);
  return open_rows(spec_of(name));
}

Split Dataset::open(const SplitSpec& spec) const {
  Split split = open_rows(spec);
  if (spec_.timeseries) split = cut_timeseries(split, *spec_.timeseries);
  if (spec.take) split.samples = std::min(split.samples, *spec.take);
  return split;
}

Split Dataset::open_rows(const SplitSpec& spec) const {
  return spec.part ? part_of_files(spec) : open_fields(spec);
}

Split Dataset::open_fields(const SplitSpec& spec) const {
  const auto directories = search_directories(spec_.name, spec_.folder, spec_.directories);
  const OpenContext context{
      .directories = directories, .hint = spec_.hint, .seed = seed_, .cache = spec_.cache};
  Split split{.name = spec.name, .first = 0, .samples = 0, .fields = {}};
  for (std::size_t i = 0; i < spec_.fields.size(); ++i) {
    if (spec.openers[i] == nullptr) continue;
    split.fields.push_back(make_field(spec_.fields[i], spec.openers[i](context), seed_));
  }
  check_counts(split);
  check_masks(spec_.fields, split);
  split.samples = source_samples(split.fields.front());
  if (spec_.mix) add_mixer(*spec_.mix, seed_, split);
  return split;
}

Split Dataset::part_of_files(const SplitSpec& spec) const {
  if (!files_) files_ = open_fields(spec);
  Split split = *files_;
  split.name = spec.name;
  split.first = count_of(spec.part->begin, files_->samples);
  split.samples = count_of(spec.part->end, files_->samples) - split.first;
  if (split.samples > 0) return split;
  config::fail_at(spec.at, "splits.{} takes none of the {} samples of {}; give it a larger part",
                  spec.name, files_->samples, split.fields.front().source->info().name);
}

std::optional<std::string> Dataset::validation_name() const {
  for (const char* name : {"validation", "test"}) {
    if (has(name)) return name;
  }
  return std::nullopt;
}

std::string Dataset::describe() const {
  std::string text;
  for (const SplitSpec& spec : spec_.splits) text += data::describe(split(spec.name)) + "\n";
  return text;
}

std::string describe(const Split& split) {
  std::string text = fmt::format("{}: {} {}", split.name, split.samples, describe_samples(split));
  for (const Field& field : split.fields) {
    text += fmt::format(", {} {} {}", field.name, to_string(field.dtype), to_string(field.shape));
  }
  return text;
}

std::pair<Split, Split> split_validation(const Split& split, double fraction) {
  if (!(fraction > 0.0 && fraction < 1.0)) {
    fail("validation_split must be between 0 and 1, not {}", fraction);
  }
  const auto samples = static_cast<double>(split.samples);
  const auto kept = static_cast<std::int64_t>(std::floor(samples * (1.0 - fraction)));
  if (kept == 0 || kept == split.samples) {
    fail("validation_split {} of {} samples leaves {} to train and {} to validate", fraction,
         split.samples, kept, split.samples - kept);
  }
  std::pair<Split, Split> parts{split, split};
  parts.first.samples = kept;
  parts.second.name = "validation";
  parts.second.first += kept;
  parts.second.samples -= kept;
  return parts;
}

Split select_fields(const Split& split, const std::vector<std::string>& fields) {
  Split selected{.name = split.name, .first = split.first, .samples = split.samples, .fields = {}};
  std::vector<std::string> known;
  for (const Field& field : split.fields) known.push_back(field.name);
  for (const std::string& name : fields) {
    const Field* field = split.find(name);
    if (field == nullptr) {
      fail("split '{}' has no field '{}'{}", split.name, name, suggestion(name, known));
    }
    selected.fields.push_back(*field);
  }
  return selected;
}

}  // namespace meshwork::data
