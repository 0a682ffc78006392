// The binary version of CIFAR-10 and CIFAR-100 (https://www.cs.toronto.edu/~kriz/cifar.html): per
// sample 1 byte of label, or 2 (coarse, fine), then 3 planes of 32 x 32 bytes, read as [32, 32, 3].
// Key of a field: part (image, label; coarse, fine): x is the image, y the (fine) label unless it
// says otherwise.
#include <algorithm>
#include <array>
#include <memory>

#include "base/error.h"
#include "base/names.h"
#include "base/nearest.h"
#include "data/formats/array_source.h"
#include "data/formats/concatenated.h"

namespace meshwork::data {
namespace {

constexpr std::int64_t kPixels = 32 * 32;
constexpr std::int64_t kChannels = 3;
constexpr std::int64_t kImage = kPixels * kChannels;

/// A byte of every record that is a label.
struct Label {
  std::string_view part;
  std::int64_t offset;
  int classes;
};

/// One of the two datasets.
struct Variant {
  std::string_view name;
  std::array<Label, 2> labels;  ///< the second one is what y is unless told otherwise
  std::int64_t label_bytes;
  std::int64_t record() const { return label_bytes + kImage; }
};

constexpr Variant kTen{"CIFAR-10", {{{"label", 0, 10}, {"label", 0, 10}}}, 1};
constexpr Variant kHundred{"CIFAR-100", {{{"coarse", 0, 20}, {"fine", 1, 100}}}, 2};

class ImageSource : public Source {
 public:
  ImageSource(std::unique_ptr<FileBytes> file, const Variant& variant, std::int64_t samples)
      : Source({file->path(), {samples, 32, 32, kChannels}, DType::kUInt8}),
        file_(std::move(file)),
        variant_(variant) {}

  std::int64_t kept_bytes() const override { return info().shape[0] * variant_.record(); }

 private:
  /// Element [sample, pixel, channel] lies in plane `channel`.
  void fetch(std::int64_t begin, std::int64_t count, std::byte* out) const override {
    const std::byte* bytes = file_->all().data();
    std::int64_t sample = begin / kImage;
    std::int64_t pixel = begin % kImage / kChannels;
    std::int64_t channel = begin % kChannels;
    for (std::int64_t i = 0; i < count; ++i) {
      out[i] = bytes[sample * variant_.record() + variant_.label_bytes + channel * kPixels + pixel];
      if (++channel < kChannels) continue;
      channel = 0;
      if (++pixel < kPixels) continue;
      pixel = 0;
      ++sample;
    }
  }

  std::unique_ptr<FileBytes> file_;
  const Variant& variant_;
};

class LabelSource : public Source {
 public:
  LabelSource(std::unique_ptr<FileBytes> file, const Variant& variant, const Label& label,
              std::int64_t samples)
      : Source({file->path(), {samples}, DType::kUInt8}),
        file_(std::move(file)),
        variant_(variant),
        label_(label) {}

 private:
  void fetch(std::int64_t begin, std::int64_t count, std::byte* out) const override {
    for (std::int64_t i = begin; i < begin + count; ++i) {
      const std::byte raw =
          file_->all()[static_cast<std::size_t>(i * variant_.record() + label_.offset)];
      const int label = std::to_integer<int>(raw);
      if (label >= label_.classes) {
        fail(ExitCode::kFile,
             "{}: sample {}: {} {} is not in 0..{}; is it the binary version of {}, and whole?",
             info().name, i, label_.part, label, label_.classes - 1, variant_.name);
      }
      *out++ = raw;
    }
  }

  std::unique_ptr<FileBytes> file_;
  const Variant& variant_;
  const Label& label_;
};

/// Null for images.
std::unique_ptr<Source> open_cifar(const std::string& path, const Variant& variant,
                                   const Label* label) {
  auto file = std::make_unique<FileBytes>(path);
  const auto size = static_cast<std::int64_t>(file->all().size());
  const std::int64_t samples = size / variant.record();
  if (size % variant.record() != 0 || samples == 0) {
    fail(ExitCode::kFile,
         "{}: {} bytes are no whole number of records of {} bytes; is it a file of the binary "
         "version of {}, and whole?",
         path, size, variant.record(), variant.name);
  }
  if (label != nullptr) {
    return std::make_unique<LabelSource>(std::move(file), variant, *label, samples);
  }
  return std::make_unique<ImageSource>(std::move(file), variant, samples);
}

Opener parse(const FieldEntry& entry, const Variant& variant) {
  std::string part = entry.field == names::kFeatures ? "image" : "";
  if (entry.field == names::kLabels) part = variant.labels[1].part;
  const config::Value* given = entry.options.find("part");
  if (given != nullptr) part = given->as_string("part");
  std::vector<std::string> known{"image", std::string(variant.labels[0].part)};
  if (&variant == &kHundred) known.emplace_back(variant.labels[1].part);
  if (std::find(known.begin(), known.end(), part) == known.end()) {
    if (given == nullptr) {
      config::fail_at(entry.value.at, "field '{}' must say which part of the records it is{}",
                      entry.field, suggestion("", known));
    }
    config::fail_at(given->at, "{} has no part '{}'{}", variant.name, part,
                    suggestion(part, known));
  }
  const Label* label = nullptr;
  for (const Label& one : variant.labels) {
    if (one.part == part) label = &one;
  }
  return open_files(files_of(entry),
                    [&variant, label](const std::string& path, const OpenContext&) {
                      return open_cifar(path, variant, label);
                    });
}

}  // namespace

const Format kCifar10{.name = "cifar10",
                      .parse = [](const FieldEntry& entry) { return parse(entry, kTen); },
                      .takes_files = true};
const Format kCifar100{.name = "cifar100",
                       .parse = [](const FieldEntry& entry) { return parse(entry, kHundred); },
                       .takes_files = true};

}  // namespace meshwork::data
