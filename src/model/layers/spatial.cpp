#include "model/layers/spatial.h"

#include <algorithm>

#include "base/join.h"
#include "model/arguments.h"
#include "model/count_along.h"
#include "ops/ops.h"

namespace meshwork::layers {
namespace {

// Times the 2^46 elements that a tensor may have, still an int64.
constexpr std::int64_t kMost = std::int64_t{1} << 16;

std::string_view sample_words(std::size_t rank) {
  if (rank == 1) return "[steps, channels]";
  return rank == 2 ? "[height, width, channels]" : "[depth, height, width, channels]";
}

/// The words of `data_format: channels_first`, with the Permute that does the same.
[[noreturn]] void refuse_channels_first(const config::Reader& args, const config::Value& format,
                                        std::size_t rank) {
  std::vector<std::int64_t> dims;
  for (std::size_t d = 2; d < rank + 2; ++d) dims.push_back(static_cast<std::int64_t>(d));
  dims.push_back(1);
  fail_at(format.at,
          "{}: data_format '{}' is not supported; samples are {}: leave data_format out, and put "
          "Permute: {{dims: [{}]}} before the layer if the channels come first",
          args.what(), format.scalar, sample_words(rank), join(dims, ", "));
}

void refuse_other_formats(config::Reader& args, std::size_t rank) {
  const config::Value* format = args.find("data_format");
  if (format == nullptr) return;
  const std::string name = format->as_string("data_format");
  if (name == "channels_last") return;
  if (name == "channels_first") refuse_channels_first(args, *format, rank);
  fail_at(format->at, "{}: data_format is '{}'; give channels_last, or leave it out", args.what(),
          name);
}

std::int64_t checked(const config::Reader& args, const config::Value& value, std::string_view key,
                     std::int64_t least) {
  const std::int64_t number = value.as_integer(key);
  if (number < least || number > kMost) {
    fail_at(value.at, "{}: {} is {}; give {} to {}", args.what(), key, number, least, kMost);
  }
  return number;
}

/// `3` as 3, 3 and `[3, 4]` as 3, 4.
std::vector<std::int64_t> checked_list(const config::Reader& args, const config::Value& value,
                                       std::string_view key, std::size_t count,
                                       std::int64_t least) {
  if (!value.is_list()) {
    return std::vector<std::int64_t>(count, checked(args, value, key, least));
  }
  if (value.list.size() != count) {
    fail_at(value.at, "{}: {} has {} numbers; give one number, or {}", args.what(), key,
            value.list.size(), count);
  }
  std::vector<std::int64_t> numbers;
  for (const config::Value& item : value.list) numbers.push_back(checked(args, item, key, least));
  return numbers;
}

}  // namespace

Shape read_extents(Scope& scope, config::Reader& args, ValueId x, std::size_t rank) {
  const Shape& shape = scope.builder().shape(x);
  refuse_other_formats(args, rank);
  if (shape.size() != rank + 2) {
    Shape with_channel(shape.begin() + 1, shape.end());
    with_channel.push_back(1);
    const bool lacks_channel = shape.size() == rank + 1;
    const std::string as_input =
        lacks_channel ? fmt::format(", or give the model input: {}, for which data of {} do",
                                    meshwork::to_string(with_channel), sample_shape(shape))
                      : "";
    fail_at(args.at(), "{} needs samples {}, not {}; put a Reshape before it{}", args.what(),
            sample_words(rank), sample_shape(shape), as_input);
  }
  return {shape.begin() + 1, shape.end() - 1};
}

Shape read_numbers(config::Reader& args, std::string_view key, std::size_t rank,
                   std::optional<std::int64_t> fallback, std::int64_t least) {
  const config::Value* value = fallback ? args.find(key) : &args.require(key);
  if (value == nullptr) return Shape(rank, *fallback);
  return checked_list(args, *value, key, rank, least);
}

std::vector<Margin> read_margins(config::Reader& args, std::string_view key, std::size_t rank,
                                 std::int64_t fallback) {
  const config::Value* value = args.find(key);
  if (value == nullptr) return std::vector<Margin>(rank, {fallback, fallback});
  if (rank == 1) {
    const auto pair = checked_list(args, *value, key, 2, 0);
    return {{pair[0], pair[1]}};
  }
  if (value->is_list() && value->list.size() != rank) {
    fail_at(value->at, "{}: {} has {} entries; give one number, {} numbers, or {} pairs",
            args.what(), key, value->list.size(), rank, rank);
  }
  std::vector<Margin> margins;
  for (std::size_t i = 0; i < rank; ++i) {
    const auto pair = checked_list(args, value->is_list() ? value->list[i] : *value, key, 2, 0);
    margins.push_back({pair[0], pair[1]});
  }
  return margins;
}

Padding read_padding(config::Reader& args, bool causal) {
  const config::Value* value = args.find("padding");
  if (value == nullptr) return Padding::kValid;
  std::string name = value->as_string("padding");
  std::transform(name.begin(), name.end(), name.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  if (name == "valid") return Padding::kValid;
  if (name == "same") return Padding::kSame;
  if (name == "causal" && causal) return Padding::kCausal;
  fail_at(value->at, "{}: padding is '{}'; give valid{}", args.what(), value->scalar,
          causal ? ", same or causal" : " or same");
}

void place(Windows& windows, const config::Reader& args, const Shape& extents) {
  for (std::size_t i = 0; i < extents.size(); ++i) {
    const std::int64_t extent = extents[i];
    const std::int64_t stride = windows.strides[i];
    const std::int64_t span = (windows.window[i] - 1) * windows.dilations[i] + 1;
    const bool valid = windows.padding == Padding::kValid;
    const std::int64_t room = valid ? extent - span : extent - 1;
    if (room < 0) {
      fail_at(args.at(),
              "{}: the output would have no elements: along dimension {} of {} the window spans {} "
              "of {}; make it smaller, or give padding: same",
              args.what(), i, to_string(extents), span, extent);
    }
    const std::int64_t count = room / stride + 1;
    const std::int64_t missing = std::max((count - 1) * stride + span - extent, std::int64_t{0});
    windows.results.push_back(count);
    windows.before.push_back(valid                                 ? 0
                             : windows.padding == Padding::kCausal ? span - 1
                                                                   : missing / 2);
  }
}

ValueId positions(GraphBuilder& b, const Shape& extents, std::size_t i) {
  return count_along(b, extents.size() + 2, i + 1, extents[i]);
}

}  // namespace meshwork::layers
