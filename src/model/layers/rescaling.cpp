// y = scale x + offset, each of them one number, or a list of numbers or of such lists, which
// broadcasts to a sample from its last dimension on
#include "model/arguments.h"
#include "model/layers/layer.h"
#include "ops/ops.h"

namespace meshwork::layers {
namespace {

/// Each is a constant of the program.
constexpr std::size_t kMostNumbers = 4096;

/// Numbers of a list of lists, and its shape.
class Numbers {
 public:
  Numbers(const config::Reader& args, const char* key, const config::Value& given)
      : args_(args), key_(key) {
    for (const config::Value* v = &given; v->is_list() && !v->list.empty(); v = &v->list[0]) {
      shape_.push_back(static_cast<std::int64_t>(v->list.size()));
    }
    add(given, 0);
  }

  const std::vector<double>& all() const { return all_; }
  const Shape& shape() const { return shape_; }

 private:
  void add(const config::Value& given, std::size_t depth) {
    if (depth == shape_.size() && !given.is_list()) {
      all_.push_back(given.as_real(key_));
      if (all_.size() <= kMostNumbers) return;
      fail_at(given.at, "{}: {} has more than {} numbers; leave it to the dataset's mean and std",
              args_.what(), key_, kMostNumbers);
    }
    if (depth == shape_.size() || !given.is_list() || std::ssize(given.list) != shape_[depth]) {
      fail_at(given.at, "{}: {} is a list of unequal lists; let each have as many numbers",
              args_.what(), key_);
    }
    for (const config::Value& part : given.list) add(part, depth + 1);
  }

  const config::Reader& args_;
  const char* key_;
  std::vector<double> all_;
  Shape shape_;
};

/// Whether numbers of this shape broadcast to all samples of a batch alike.
bool fits(const Shape& numbers, const Shape& x) {
  if (numbers.size() > x.size()) return false;
  const std::size_t before = x.size() - numbers.size();
  for (std::size_t d = 0; d < numbers.size(); ++d) {
    const bool is_batch = before + d == 0;
    if (numbers[d] != 1 && (is_batch || numbers[d] != x[before + d])) return false;
  }
  return true;
}

/// What broadcasts to x.
ValueId constants(GraphBuilder& b, const config::Reader& args, const config::Value& given,
                  const char* key, ValueId x) {
  if (!given.is_list()) return ops::constant_like(b, given.as_real(key), x);
  const Numbers numbers(args, key, given);
  if (!fits(numbers.shape(), b.shape(x))) {
    fail_at(given.at,
            "{}: {} has shape {} for samples {}; give one number, one for each channel, or what "
            "broadcasts to a sample",
            args.what(), key, to_string(numbers.shape()), sample_shape(b.shape(x)));
  }
  std::vector<ValueId> parts;
  for (const double number : numbers.all()) {
    parts.push_back(ops::reshape(b, ops::constant_like(b, number, x), {1}));
  }
  const ValueId all = parts.size() == 1 ? parts[0] : b.add(ops::kConcatenate, parts, {{"axis", 0}});
  return ops::reshape(b, all, numbers.shape());
}

ValueId build(Scope& scope, config::Reader& args, std::span<const ValueId> inputs) {
  GraphBuilder& b = scope.builder();
  const ValueId x = inputs[0];
  const ValueId y = ops::multiply(b, x, constants(b, args, args.require("scale"), "scale", x));
  const config::Value* const offset = args.find("offset");
  const bool is_zero = offset == nullptr || (offset->is_real() && offset->as_real("offset") == 0);
  return is_zero ? y : ops::add(b, y, constants(b, args, *offset, "offset", x));
}

}  // namespace

const LayerDef kRescaling{.names = {"Rescaling"},
                          .build = build,
                          .passes_mask = true,
                          .written_defaults = {{"offset", 0.0}}};

}  // namespace meshwork::layers
