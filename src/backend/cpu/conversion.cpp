// convert:   y = the stored numbers x as those of training (ops/conversion.h)
// take_rows: the same of rows of samples, in one pass; threads convert what they compute with
#include <algorithm>

#include "backend/cpu/kernels.h"
#include "base/conversion.h"
#include "base/parallel.h"
#include "base/runs.h"

namespace meshwork::cpu {
namespace {

constexpr std::int64_t kValue = 4;  ///< bytes of float32 and int32

/// What the attributes of an op say of its numbers.
struct Converter {
  DType from;
  Conversion conversion;
  Normalization normalization;

  explicit Converter(const KernelArgs& args)
      : from(args.inputs[0].type.dtype),
        conversion{args.output.type.dtype, args.attrs.real("scale"), args.attrs.real("offset")} {
    if (args.attrs.find("mean") == nullptr) return;
    normalization = {args.attrs.reals("mean"), args.attrs.reals("std")};
  }

  std::int64_t size() const { return static_cast<std::int64_t>(size_of(from)); }

  void convert(const std::byte* raw, std::int64_t count, std::byte* out) const {
    for (std::int64_t done = 0; done < count;) {
      done += convert_elements(raw + done * size(), from, count - done, conversion,
                               out + done * kValue);
      // No int32; the host has told of those that matter.
      if (done < count) std::fill_n(out + done++ * kValue, kValue, std::byte{0});
    }
  }

  /// Elements of which the first stands at place `start` of its row.
  void run(const std::byte* raw, std::int64_t start, std::int64_t count, std::byte* out) const {
    if (normalization.empty()) return convert(raw, count, out);
    convert_and_normalize(raw, from, conversion, normalization, start,
                          {reinterpret_cast<float*>(out), static_cast<std::size_t>(count)});
  }
};

/// Has what is read soon fetched into the caches: rows may lie anywhere in memory.
void prefetch(const std::byte* data, std::int64_t bytes) {
  constexpr std::int64_t kLine = 64;
  constexpr std::int64_t kMost = 4096;  // what follows the processor fetches ahead by itself
  bytes = std::min(bytes, kMost);
  for (std::int64_t i = 0; i < bytes; i += kLine) __builtin_prefetch(data + i);
  if (bytes > 0) __builtin_prefetch(data + bytes - 1);
}

/// Takes the rows that one device wants, or its part of each.
class RowTaker {
 public:
  explicit RowTaker(const KernelArgs& args)
      : converter_(args), samples_(args.inputs[0]), rows_(args.inputs[1]), y_(args.output) {
    const Shape& all = samples_.type.shape;
    row_ = num_elements(Shape(all.begin() + 1, all.end())) * converter_.size();
    const Shape& offset = y_.region.offset;
    const Shape& local = y_.type.shape;
    runs_ = runs_of({{all.begin() + 1, all.end()}, {offset.begin() + 1, offset.end()}},
                    {local.begin() + 1, local.end()});
    for (const Run& run : runs_) elements_ += run.count;
  }

  void run(std::int64_t begin, std::int64_t end) const {
    constexpr std::int64_t kAhead = 4;
    if (runs_.empty()) return;
    const std::int64_t first = runs_.front().global;
    const std::int64_t span = runs_.back().global + runs_.back().count - first;
    for (std::int64_t i = begin; i < std::min(begin + kAhead, end); ++i) fetch(i, first, span);
    for (std::int64_t i = begin; i < end; ++i) {
      if (i + kAhead < end) fetch(i + kAhead, first, span);
      take(row(i), y_.data + i * elements_ * kValue);
    }
  }

 private:
  /// nullptr: no such row.
  const std::byte* row(std::int64_t i) const {
    const std::int64_t number = rows_.as<std::int32_t>()[i];
    const bool is_there = number >= 0 && number < samples_.type.shape[0];
    return is_there ? samples_.data + number * row_ : nullptr;
  }

  void fetch(std::int64_t i, std::int64_t first, std::int64_t span) const {
    const std::byte* data = row(i);
    if (data != nullptr) prefetch(data + first * converter_.size(), span * converter_.size());
  }

  void take(const std::byte* data, std::byte* out) const {
    if (data == nullptr) {
      std::fill_n(out, elements_ * kValue, std::byte{0});
      return;
    }
    for (const Run& run : runs_) {
      converter_.run(data + run.global * converter_.size(), run.global, run.count,
                     out + run.local * kValue);
    }
  }

  Converter converter_;
  TensorView samples_, rows_, y_;
  std::int64_t row_ = 0;   ///< bytes of one
  std::vector<Run> runs_;  ///< of a row
  std::int64_t elements_ = 0;
};

}  // namespace

Launch take_rows(const KernelArgs& args) {
  return [taker = RowTaker(args), rows = args.output.type.shape[0],
          elements = num_elements(args.output.type.shape)] {
    for_each_share(rows, elements, [&](auto begin, auto end) { taker.run(begin, end); });
  };
}

Launch convert_stored(const KernelArgs& args) {
  const TensorView& y = args.output;
  const std::int64_t channels = y.type.shape.empty() ? 1 : y.type.shape.back();
  const std::int64_t first = y.type.shape.empty() ? 0 : y.region.offset.back();
  const std::int64_t elements = num_elements(y.type.shape);
  // A line of channels at a time where they have numbers of their own and are not all here.
  const Converter converter(args);
  const bool by_line =
      converter.normalization.mean.size() > 1 && channels != y.region.global.back();
  return [converter, x = args.inputs[0].data, y = y.data, elements, channels, first, by_line] {
    if (elements == 0) return;
    for_each_share(elements / channels, elements, [&](auto begin, auto end) {
      const std::int64_t step = by_line ? 1 : end - begin;
      for (std::int64_t i = begin; i < end; i += step) {
        const std::int64_t at = i * channels;
        converter.run(x + at * converter.size(), first, step * channels, y + at * kValue);
      }
    });
  };
}

}  // namespace meshwork::cpu
