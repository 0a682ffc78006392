#include "model/layers/numbers.h"

#include "ops/ops.h"

namespace meshwork::layers {
namespace {

/// Each is a constant of the program.
constexpr std::size_t kMostNumbers = 4096;

class Reading {
 public:
  Reading(const config::Reader& args, std::string_view key) : args_(args), key_(key) {}

  Numbers read(const config::Value& given) {
    for (const config::Value* v = &given; v->is_list() && !v->list.empty(); v = &v->list[0]) {
      numbers_.shape.push_back(static_cast<std::int64_t>(v->list.size()));
    }
    add(given, 0);
    return std::move(numbers_);
  }

 private:
  void add(const config::Value& given, std::size_t depth) {
    const Shape& shape = numbers_.shape;
    if (depth == shape.size() && !given.is_list()) {
      numbers_.all.push_back(given.as_real(key_));
      if (numbers_.all.size() <= kMostNumbers) return;
      fail_at(given.at, "{}: {} has more than {} numbers; leave it to the dataset's mean and std",
              args_.what(), key_, kMostNumbers);
    }
    if (depth == shape.size() || !given.is_list() || std::ssize(given.list) != shape[depth]) {
      fail_at(given.at, "{}: {} is a list of unequal lists; let each have as many numbers",
              args_.what(), key_);
    }
    for (const config::Value& part : given.list) add(part, depth + 1);
  }

  const config::Reader& args_;
  std::string_view key_;
  Numbers numbers_;
};

}  // namespace

Numbers read_numbers(const config::Reader& args, std::string_view key, const config::Value& given) {
  return Reading(args, key).read(given);
}

ValueId constants(GraphBuilder& b, const Numbers& numbers, ValueId x) {
  if (numbers.shape.empty()) return ops::constant_like(b, numbers.all[0], x);
  std::vector<ValueId> parts;
  for (const double number : numbers.all) {
    parts.push_back(ops::reshape(b, ops::constant_like(b, number, x), {1}));
  }
  const ValueId all = parts.size() == 1 ? parts[0] : b.add(ops::kConcatenate, parts, {{"axis", 0}});
  return ops::reshape(b, all, numbers.shape);
}

}  // namespace meshwork::layers
