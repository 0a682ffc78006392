// x[key]: part of each sample
#include "model/layers/get_item.h"

#include <algorithm>

#include "model/arguments.h"
#include "model/layers/operation.h"
#include "ops/ops.h"

namespace meshwork::layers {
namespace {

std::string_view trimmed(std::string_view text) {
  const auto first = std::min(text.find_first_not_of(" \t\n"), text.size());
  text.remove_prefix(first);
  return text.substr(0, text.find_last_not_of(" \t\n") + 1);
}

std::vector<std::string_view> split(std::string_view text, char mark) {
  std::vector<std::string_view> parts;
  for (;;) {
    const std::size_t end = text.find(mark);
    parts.push_back(trimmed(text.substr(0, end)));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

std::int64_t read_number(std::string_view text, const config::Location& at) {
  return config::Value::of_text(std::string(text), at).as_integer("a part of key");
}

KeyPart read_part(std::string_view text, const config::Location& at) {
  if (text == "...") return {.kind = KeyPart::Kind::kEllipsis};
  if (text == "None" || text == "newaxis") return {.kind = KeyPart::Kind::kNewAxis};
  const std::vector<std::string_view> numbers = split(text, ':');
  if (numbers.size() == 1) {
    return {.kind = KeyPart::Kind::kIndex, .index = read_number(text, at)};
  }
  if (numbers.size() > 3) config::fail_at(at, "key: '{}' is no start:stop:step", text);
  KeyPart part;
  if (!numbers[0].empty()) part.start = read_number(numbers[0], at);
  if (!numbers[1].empty()) part.stop = read_number(numbers[1], at);
  if (numbers.size() == 3 && !numbers[2].empty()) part.step = read_number(numbers[2], at);
  if (part.step.value_or(1) < 1) {
    config::fail_at(at, "key: the step of '{}' is {}; give 1 or more", text, *part.step);
  }
  return part;
}

bool is_all(const KeyPart& part) {
  return part.kind == KeyPart::Kind::kSlice && !part.start && !part.stop &&
         part.step.value_or(1) == 1;
}

bool takes_dimension(const KeyPart& part) {
  return part.kind == KeyPart::Kind::kIndex || part.kind == KeyPart::Kind::kSlice;
}

ValueId slice(GraphBuilder& b, ValueId x, std::int64_t axis, std::int64_t start,
              std::int64_t size) {
  return b.add(ops::kSlice, {x}, {{"axis", axis}, {"start", start}, {"size", size}});
}

/// Python's: counted from the end if negative, and no farther than the ends.
std::int64_t bound(std::optional<std::int64_t> given, std::int64_t otherwise, std::int64_t extent) {
  if (!given) return otherwise;
  return std::clamp<std::int64_t>(*given < 0 ? *given + extent : *given, 0, extent);
}

/// x[start + i step] for i < count: of blocks of `step` elements that begin early enough to end
/// within x, one each. Where that many do not fit, the last element comes behind one block fewer.
ValueId strided(GraphBuilder& b, ValueId x, std::int64_t axis, std::int64_t start,
                std::int64_t step, std::int64_t count) {
  if (step == 1 || count == 1) return slice(b, x, axis, start, count);
  const auto dim = static_cast<std::size_t>(axis);
  const std::int64_t extent = b.shape(x)[dim];
  if (count * step > extent) {
    const ValueId before = strided(b, x, axis, start, step, count - 1);
    const ValueId last = slice(b, x, axis, start + (count - 1) * step, 1);
    return b.add(ops::kConcatenate, {before, last}, {{"axis", axis}});
  }
  const std::int64_t first = std::min(start, extent - count * step);
  const ValueId whole = slice(b, x, axis, first, count * step);
  Shape blocks = b.shape(whole), result = blocks;
  blocks[dim] = count;
  blocks.insert(blocks.begin() + axis + 1, step);
  result[dim] = count;
  const ValueId one = slice(b, ops::reshape(b, whole, blocks), axis + 1, start - first, 1);
  return ops::reshape(b, one, result);
}

/// x[key], part by part of the key.
class Taking {
 public:
  Taking(GraphBuilder& b, const config::Reader& args, const config::Value& key, ValueId x)
      : b_(b), args_(args), key_(key), x_(x) {}

  ValueId take() {
    std::vector<KeyPart> parts = read_key(key_);
    const auto is_rest = [](const KeyPart& p) { return p.kind == KeyPart::Kind::kEllipsis; };
    const auto rests = std::count_if(parts.begin(), parts.end(), is_rest);
    const auto taken = std::count_if(parts.begin(), parts.end(), takes_dimension);
    const auto rank = std::ssize(b_.shape(x_));
    if (rests > 1)
      fail_at(key_.at, "{}: key has '...' {} times; give it once", args_.what(), rests);
    if (taken > rank) {
      fail_at(key_.at, "{}: key has {} parts for {} dimensions, the batch and those of a sample {}",
              args_.what(), taken, rank, sample_shape(b_.shape(x_)));
    }
    if (rests == 0) parts.push_back({.kind = KeyPart::Kind::kEllipsis});
    for (const KeyPart& part : parts) add(part, rank - taken);
    return ops::reshape(b_, x_, shape_);
  }

 private:
  /// `rest`: the dimensions that '...' stands for.
  void add(const KeyPart& part, std::int64_t rest) {
    if (part.kind == KeyPart::Kind::kEllipsis) {
      const auto first = b_.shape(x_).begin() + axis_;
      shape_.insert(shape_.end(), first, first + rest);
      axis_ += rest;
      return;
    }
    if (axis_ == 0 && !is_all(part)) {
      fail_at(key_.at, "{}: key begins with the batch, which stays whole; begin with ':' or '...'",
              args_.what());
    }
    if (part.kind == KeyPart::Kind::kNewAxis) {
      shape_.push_back(1);
      return;
    }
    const std::int64_t extent = b_.shape(x_)[static_cast<std::size_t>(axis_)];
    if (part.kind == KeyPart::Kind::kIndex) {
      take_one(part.index, extent);
    } else {
      shape_.push_back(take_some(part, extent));
    }
    ++axis_;
  }

  void take_one(std::int64_t index, std::int64_t extent) {
    if (index < -extent || index >= extent) {
      fail_at(key_.at, "{}: key has {} for dimension {} of extent {}; give {} to {}", args_.what(),
              index, axis_, extent, -extent, extent - 1);
    }
    x_ = slice(b_, x_, axis_, index < 0 ? index + extent : index, 1);
  }

  /// A slice that takes all of x by numbers stands in the program: of a part of a sequence it would
  /// not take all.
  std::int64_t take_some(const KeyPart& part, std::int64_t extent) {
    if (is_all(part)) return extent;
    const std::int64_t start = bound(part.start, 0, extent);
    const std::int64_t stop = bound(part.stop, extent, extent);
    const std::int64_t step = std::min(part.step.value_or(1), extent);
    const std::int64_t count = stop <= start ? 0 : (stop - start - 1) / step + 1;
    if (count == 0) {
      fail_at(key_.at, "{}: key leaves nothing of dimension {}, of extent {}", args_.what(), axis_,
              extent);
    }
    x_ = strided(b_, x_, axis_, start, step, count);
    return count;
  }

  GraphBuilder& b_;
  const config::Reader& args_;
  const config::Value& key_;
  ValueId x_;
  std::int64_t axis_ = 0;  ///< of x, the next
  Shape shape_;            ///< of the result, so far
};

ValueId build(Scope& scope, config::Reader& args, std::span<const ValueId> inputs) {
  const config::Value& key = args.require("key");
  return give(scope, args, Taking(scope.builder(), args, key, inputs[0]).take());
}

}  // namespace

std::vector<KeyPart> read_key(const config::Value& key) {
  std::vector<KeyPart> parts;
  if (!key.is_list()) {
    const std::string text = key.as_string("key");
    for (const std::string_view part : split(text, ',')) parts.push_back(read_part(part, key.at));
    return parts;
  }
  for (const config::Value& part : key.list) {
    if (part.is_map()) {
      config::fail_at(part.at, "key: YAML takes a bare ':' for a map; write key: \":, 0\"");
    }
    const std::string text = part.is_null() ? "None" : part.as_string("a part of key");
    parts.push_back(read_part(trimmed(text), part.at));
  }
  return parts;
}

const LayerDef kGetItem{.names = {"GetItem"},
                        .build = build,
                        .takes_any_dtype = true,
                        .call_arguments = {"key"},
                        .module = kNumpyOperations};

}  // namespace meshwork::layers
